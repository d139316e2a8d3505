"""Clusters → how far one record can move a centroid. One bound per file, its proposition cited."""
