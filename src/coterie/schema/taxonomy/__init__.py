"""Trees of categories: loaders, semantic distance, marginality, orders, centroids."""

from coterie.schema.taxonomy.loading import adult, load_taxonomy
from coterie.schema.taxonomy.tree import Taxonomy

__all__ = ["Taxonomy", "adult", "load_taxonomy"]
