"""Dead letters that redrives have moved or parked."""

from alembic import op

from deadwatch.store.columns import columns

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create the table of dead letters that redrives have handled."""
    op.create_table(
        "redrive_handled", *columns("*dlq_topic *dlq_topic_id *partition:n *block:n *outcome offsets:bytes")
    )
