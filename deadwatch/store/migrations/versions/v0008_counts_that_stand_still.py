"""Counts of brokers and collectors that stand still are not written anew: no row says when it was seen."""

from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Drop the columns."""
    for name in ("share_groups", "collector_counts"):  # as batches lock them
        with op.batch_alter_table(name) as table:
            table.drop_column("observed_at_ms")
