"""The tables, as SQLAlchemy sees them. What creates and changes them is in migrations/."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

VERSION = "0003"  # of the last migration
metadata = MetaData()

# One row. Every change of state raises it, under its row lock: writers are ordered, readers see that something moved.
clock = Table(
    "clock", metadata, Column("id", Integer, primary_key=True), Column("ticks", BigInteger, nullable=False)
)

owners = Table(
    "owners",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(40), nullable=False, unique=True),
    Column("key", String(44), nullable=False, unique=True),
    Column("sealing_key", String(44), nullable=False),
    Column("enrolled", String(40), nullable=False),
    Column("left", String(40)),
    Column("session", String(64)),
    Column("session_seen", String(40)),
)
invitations = Table(
    "invitations",
    metadata,
    Column("token_hash", String(64), primary_key=True),
    Column("name", String(40), nullable=False),
    Column("expires", String(40), nullable=False),
    Column("used_by", String(44)),
)
studies = Table(
    "studies",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("signed", Text, nullable=False),
    Column("state", String(20), nullable=False),
    Column("version", Integer, nullable=False),
    Column("created", String(40), nullable=False),
    Column("changed", String(40), nullable=False),
    Column("reason", Text),
    Column("group_key", Text),  # sealed to the owners; the aggregator cannot open it
    Column("shuffle_key", String(64)),  # drawn when assembling begins, erased when the release is out
    Column("certificate", Text),
    Column("release_sha256", String(64)),
    Column("release_size", BigInteger),
    # How often the aggregator itself failed in the present state; and, after too many, what to tell people.
    Column("faults", Integer, nullable=False, server_default="0"),
    Column("attention", Text),
)
contributions = Table(
    "contributions",
    metadata,
    Column("study", String(64), ForeignKey("studies.id"), primary_key=True),
    Column("owner", Integer, ForeignKey("owners.id"), primary_key=True),
    Column("state", String(20), nullable=False),
    Column("version", Integer, nullable=False),
    Column("changed", String(40), nullable=False),
    Column("answer", Text),
    Column("reason", Text),
    Column("manifest", Text),
    Column("receipt", Text),
    Column(
        "closed", String(40)
    ),  # when the owner said that it knows the end, and holds its copy if there is one
)
chunks = Table(
    "chunks",
    metadata,
    Column("study", String(64), primary_key=True),
    Column("owner", Integer, primary_key=True),
    Column("number", Integer, primary_key=True),
)
# What two owners of a blinded study send each other, sealed: the aggregator carries it and forgets it.
parcels = Table(
    "parcels",
    metadata,
    Column("study", String(64), primary_key=True),
    Column("owner", Integer, primary_key=True),  # who sent it
    Column("step", String(20), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("count", Integer, nullable=False),
    Column("signed", Text, nullable=False),
)
nonces = Table(
    "nonces",
    metadata,
    Column("key", String(44), primary_key=True),
    Column("nonce", String(64), primary_key=True),
    Column("seen", BigInteger, nullable=False, index=True),
)
tokens = Table(
    "tokens",
    metadata,
    Column("token_hash", String(64), primary_key=True),
    Column("label", String(100), nullable=False),
)
audit = Table(
    "audit",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("content", Text, nullable=False),
    Column("seal", String(64), nullable=False),
    UniqueConstraint("seal"),
)
