"""Instances of connectors and tasks say who observed them, since when they are in their state, and why."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the columns; of the rows that are there none of it is known."""
    with op.batch_alter_table("instances") as table:
        table.add_column(sa.Column("source", sa.Text(), server_default="", nullable=False))
        table.add_column(sa.Column("state_since_ms", sa.BigInteger(), server_default="0", nullable=False))
        table.add_column(sa.Column("trace", sa.Text(), server_default="", nullable=False))
