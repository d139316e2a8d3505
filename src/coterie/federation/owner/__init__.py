"""An owner φ_j of 003: decides, protects its own table, sends only the protected one. Connects outward only."""
