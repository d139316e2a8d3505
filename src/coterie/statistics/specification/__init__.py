"""What is to be published and what will be computed from it: statistics, equations, filters, ranges, expectations."""
