"""The whole grid of methods, k and ε over one table: sorted once, measured by cluster, resumed where it stopped."""
