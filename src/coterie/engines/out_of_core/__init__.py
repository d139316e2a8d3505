"""The chain over tables larger than memory: columns on disk, sorted outside memory, released in passes."""
