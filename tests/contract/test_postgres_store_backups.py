"""A server has backups of its own: our commands say which."""

import pytest

from deadwatch.store.errors import StoreError
from deadwatch.store.maintenance import Work, commands


@pytest.mark.parametrize(("work", "instead"), [(Work.BACKUP, "pg_dump"), (Work.RESTORE, "pg_restore")])
@pytest.mark.parametrize("name", ["", "copy.db"])
def test_backups_are_the_servers(work: Work, instead: str, name: str) -> None:
    with pytest.raises(StoreError, match=instead):
        commands.run(work, "postgresql://deadwatch@127.0.0.1:1/deadwatch", name)
