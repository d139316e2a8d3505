"""Sensitivity and ε → noise: one mechanism a file."""
