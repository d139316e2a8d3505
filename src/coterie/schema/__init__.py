"""What the data are and what is public about them.

Attributes with their types, roles and public domains, where each value came from, taxonomies, the YAML document, and
the draft that `coterie schema draft` makes from a file. Nothing here reads a record except the draft, and what the draft
takes from the data is marked. Exact fractions of ε live here too, because every document writes them.
"""
