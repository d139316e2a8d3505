"""Figures and pages: the HTML report, and the figures it shares with the studio."""
