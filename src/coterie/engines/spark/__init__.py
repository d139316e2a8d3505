"""The chain on Apache Spark: the same pieces, computed by workers, the same released values for the same seed."""
