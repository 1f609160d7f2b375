"""Redrive orders say when they had their last transaction, also one in which nothing was selected."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the column; of the orders that are there it is not known."""
    with op.batch_alter_table("redrive_orders") as table:
        table.add_column(sa.Column("proceeded_at_ms", sa.BigInteger(), server_default="0", nullable=False))
