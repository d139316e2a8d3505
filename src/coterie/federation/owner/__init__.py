"""An owner φ_j of Del Vasto-Terrientes et al.: decides, protects its own table, sends only the protected one. Connects
outward only."""
