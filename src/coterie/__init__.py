"""Coterie publishes personal data so that nobody in it can be singled out."""

from coterie._version import __version__

__all__ = ["__version__"]
