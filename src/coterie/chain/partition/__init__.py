"""Table → clusters. One way of grouping records a file."""
