"""Trees of categories: loaders, semantic distance, marginality, orders, centroids."""

from coterie.taxonomy.adult import adult
from coterie.taxonomy.load import load_taxonomy
from coterie.taxonomy.tree import Taxonomy

__all__ = ["Taxonomy", "adult", "load_taxonomy"]
