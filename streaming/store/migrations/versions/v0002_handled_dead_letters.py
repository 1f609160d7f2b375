"""Handled dead letters."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the step."""
    op.create_table(
        "redrive_handled",
        sa.Column("dlq_topic", sa.Text(), nullable=False),
        sa.Column("dlq_topic_id", sa.Text(), nullable=False),
        sa.Column("partition", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("block", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("offsets", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("dlq_topic", "dlq_topic_id", "partition", "block", "outcome"),
    )
