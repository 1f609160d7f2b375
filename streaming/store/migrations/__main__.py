"""``python -m streaming.store.migrations NAME``: write the step from the newest version to today's tables.

For developers. The first step is the whole schema and leaves alone what is there: so a store from before the
migrations is adopted.
"""

import re
import sys
import tempfile
from pathlib import Path

from alembic import command
from alembic.operations.ops import (
    CreateIndexOp,
    CreateTableOp,
    MigrateOperation,
    MigrationScript,
    ModifyTableOps,
    OpContainer,
)
from alembic.runtime.migration import MigrationContext

from streaming.store import versions
from streaming.store.engine import connect


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
            config = versions.configuration(connection)
            config.attributes["directives"] = _keep_what_is_there
            if versions.known():
                command.upgrade(config, "head")
            number = f"{len(versions.known()) + 1:04}"
            script = command.revision(config, name.replace("_", " "), autogenerate=True, rev_id=number)
        engine.dispose()
    if script is None or isinstance(script, list):
        sys.exit("no migration was written")
    return str(script.path)


def _keep_what_is_there(context: MigrationContext, _revision: object, scripts: list[MigrationScript]) -> None:
    if context.get_current_revision() is None:
        for script in scripts:
            for operations in script.upgrade_ops_list:
                _mark(operations)


def _mark(operation: MigrateOperation) -> None:
    if isinstance(operation, CreateTableOp | CreateIndexOp):
        operation.if_not_exists = True
    if isinstance(operation, OpContainer | ModifyTableOps):
        for inner in operation.ops:
            _mark(inner)


if __name__ == "__main__":
    main()
