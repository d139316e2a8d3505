"""One way of splitting a budget a file."""
