"""The aggregator's memory: SQLAlchemy over SQLite (WAL) or PostgreSQL, made and changed by Alembic."""
