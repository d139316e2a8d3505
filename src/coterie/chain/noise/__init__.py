"""Sensitivity and ε → noise. The samplers: `secure` for real releases, `seeded` for experiments."""
