"""Ratios against limits and peers, measured side by side; never part of the test suite."""
