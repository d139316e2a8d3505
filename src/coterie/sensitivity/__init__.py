"""Clusters → how far one record can move what is released. One bound a file."""
