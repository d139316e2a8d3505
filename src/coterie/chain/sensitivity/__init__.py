"""Clusters → how far one record can move a centroid. One bound a file, its proposition cited."""
