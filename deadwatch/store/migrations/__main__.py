"""``python -m deadwatch.store.migrations NAME``: write the step from the newest version to today's tables.

For developers. A column that is never null is added with the value that says "not known" for its type (an
empty text, 0, false), since the rows that are there need one; the program gives new rows theirs.
"""

import re
import sys
import tempfile
from pathlib import Path

from alembic import command
from alembic.autogenerate.rewriter import Rewriter
from alembic.operations.ops import AddColumnOp
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Boolean, DefaultClause, Integer, text

from deadwatch.store import upgrades, versions
from deadwatch.store.engine import connect

_rewriter = Rewriter()


def main() -> None:
    """Write the file and name it."""
    name = sys.argv[1] if len(sys.argv) == 2 else ""  # noqa: PLR2004 -- one argument
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        sys.exit("give the migration a name of small letters: make migration NAME=orders_have_an_owner")
    print(written(name))


def written(name: str) -> str:
    """The path of the new migration."""
    with tempfile.TemporaryDirectory() as directory:
        engine = connect(f"sqlite:///{Path(directory) / 'store.db'}")
        with engine.begin() as connection:
            config = upgrades.configuration(connection)
            command.upgrade(config, "head")
            config.attributes["directives"] = _rewriter
            number = f"{len(versions.known()) + 1:04}"
            script = command.revision(config, name.replace("_", " "), autogenerate=True, rev_id=number)
        engine.dispose()
    if script is None or isinstance(script, list):
        sys.exit("no migration was written")
    return str(script.path)


@_rewriter.rewrites(AddColumnOp)
def _with_value(_context: MigrationContext, _revision: object, operation: AddColumnOp) -> AddColumnOp:
    """Written as texts, which both databases take for a number and for an answer, too."""
    column = operation.column
    if not column.nullable and column.server_default is None:
        number = isinstance(column.type, Boolean | Integer)
        column.server_default = DefaultClause(text("'0'" if number else "''"))
    return operation


if __name__ == "__main__":
    main()
