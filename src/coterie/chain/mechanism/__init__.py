"""Clusters → released cluster values, for one type of column: centroids, sensitivity, noise."""
