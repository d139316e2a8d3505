"""The aggregator κ of Del Vasto-Terrientes et al.: asks, checks, collects, joins, releases. It never sees a raw row or
a real id."""
