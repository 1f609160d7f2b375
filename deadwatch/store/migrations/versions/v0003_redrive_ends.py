"""How far events must be read until everything that redrives have done is known."""

from alembic import op

from deadwatch.store.columns import columns

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create the table of the end offsets of redrive events."""
    op.create_table("redrive_ends", *columns("*dlq_topic *partition:n end_offset:n"))
