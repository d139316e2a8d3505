"""The first version of the aggregator's database."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "clock",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("ticks", sa.BigInteger, nullable=False),
    )
    op.execute("INSERT INTO clock (id, ticks) VALUES (1, 0)")
    op.create_table(
        "owners",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(40), nullable=False, unique=True),
        sa.Column("key", sa.String(44), nullable=False, unique=True),
        sa.Column("sealing_key", sa.String(44), nullable=False),
        sa.Column("enrolled", sa.String(40), nullable=False),
        sa.Column("left", sa.String(40)),
        sa.Column("session", sa.String(64)),
        sa.Column("session_seen", sa.String(40)),
    )
    op.create_table(
        "invitations",
        sa.Column("token_hash", sa.String(64), primary_key=True),
        sa.Column("name", sa.String(40), nullable=False),
        sa.Column("expires", sa.String(40), nullable=False),
        sa.Column("used_by", sa.String(44)),
    )
    op.create_table(
        "studies",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("signed", sa.Text, nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("created", sa.String(40), nullable=False),
        sa.Column("changed", sa.String(40), nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("group_key", sa.Text),
        sa.Column("shuffle_key", sa.String(64)),
        sa.Column("certificate", sa.Text),
        sa.Column("release_sha256", sa.String(64)),
        sa.Column("release_size", sa.BigInteger),
    )
    op.create_table(
        "contributions",
        sa.Column("study", sa.String(64), sa.ForeignKey("studies.id"), primary_key=True),
        sa.Column("owner", sa.Integer, sa.ForeignKey("owners.id"), primary_key=True),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("changed", sa.String(40), nullable=False),
        sa.Column("answer", sa.Text),
        sa.Column("reason", sa.Text),
        sa.Column("manifest", sa.Text),
        sa.Column("receipt", sa.Text),
    )
    op.create_table(
        "chunks",
        sa.Column("study", sa.String(64), primary_key=True),
        sa.Column("owner", sa.Integer, primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
    )
    op.create_table(
        "nonces",
        sa.Column("key", sa.String(44), primary_key=True),
        sa.Column("nonce", sa.String(64), primary_key=True),
        sa.Column("seen", sa.BigInteger, nullable=False, index=True),
    )
    op.create_table(
        "tokens",
        sa.Column("token_hash", sa.String(64), primary_key=True),
        sa.Column("label", sa.String(100), nullable=False),
    )
    op.create_table(
        "audit",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("seal", sa.String(64), nullable=False),
        sa.UniqueConstraint("seal"),
    )


def downgrade() -> None:
    for name in (
        "audit",
        "tokens",
        "nonces",
        "chunks",
        "contributions",
        "studies",
        "invitations",
        "owners",
        "clock",
    ):
        op.drop_table(name)
