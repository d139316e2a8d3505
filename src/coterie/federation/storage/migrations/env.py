"""Alembic's entry: the connection comes from storage.database, never from a file."""

from alembic import context

from coterie.federation.storage.tables import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata)
context.run_migrations()
