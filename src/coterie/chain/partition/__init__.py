"""Table → clusters. One way of grouping records per file."""
