"""Owners close studies that have ended, so that they are not told of them for ever."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("contributions", sa.Column("closed", sa.String(40)))


def downgrade() -> None:
    op.drop_column("contributions", "closed")
