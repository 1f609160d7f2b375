"""Redrive orders know Kafka's id of their topic: one that was made anew under its name is another topic."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the column; of the orders that are there the id is not known."""
    with op.batch_alter_table("redrive_orders") as table:
        table.add_column(sa.Column("dlq_topic_id", sa.Text(), server_default="", nullable=False))
