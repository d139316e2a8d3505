"""Columns that the chain can trust: numbers in a range, or codes of categories; and the way back to released values."""
