"""Studies that the aggregator could not move on wait for a person; owners of blinded studies exchange parcels."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("studies", sa.Column("faults", sa.Integer, nullable=False, server_default="0"))
    op.add_column("studies", sa.Column("attention", sa.Text))
    op.create_table(
        "parcels",
        sa.Column("study", sa.String(64), primary_key=True),
        sa.Column("owner", sa.Integer, primary_key=True),
        sa.Column("step", sa.String(20), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("count", sa.Integer, nullable=False),
        sa.Column("signed", sa.Text, nullable=False),
    )


def downgrade() -> None:
    op.drop_table("parcels")
    op.drop_column("studies", "attention")
    op.drop_column("studies", "faults")
