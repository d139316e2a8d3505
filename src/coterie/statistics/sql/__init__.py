"""SQL queries → a specification. They are read, never run."""
