"""Policies know Kafka's ids of the topics that they have covered: one that was made anew begins anew."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the column; of the policies that are there no id is known."""
    with op.batch_alter_table("redrive_policies") as table:
        table.add_column(sa.Column("topic_ids", sa.Text(), server_default="", nullable=False))
