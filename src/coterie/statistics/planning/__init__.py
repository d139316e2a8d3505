"""From a specification to a plan: which measurements, and how much budget each of them gets. Reads no data."""
