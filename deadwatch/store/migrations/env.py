"""Alembic's environment: runs on the connection it is given, inside that one's transaction."""

from alembic import context
from sqlalchemy import Connection

from deadwatch.store.schema import metadata
from deadwatch.store.versions import TABLE

connection: Connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=metadata,
    version_table=TABLE,
    render_as_batch=connection.dialect.name == "sqlite",
    compare_type=True,
    process_revision_directives=context.config.attributes.get("directives"),
)
context.run_migrations()
