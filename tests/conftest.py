"""Fixtures for every test."""

from postgres import postgres_url

__all__ = ["postgres_url"]
