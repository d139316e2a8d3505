"""The aggregator κ of 003: asks, checks, collects, joins, releases. It never sees a raw row or a real id."""
