"""``deadwatch store``: what is said where, and with which exit code."""

from pathlib import Path

import pytest

from cli.api_client import RefusedError, UsageError
from cli.commands import store as store_command
from cli.options import Options
from deadwatch.store.maintenance import Work


def test_a_damaged_store_is_an_exit_code_and_one_command_fixes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "deadwatch.db"

    def store(work: Work) -> int:
        return store_command.run(work, Options(data=tmp_path))

    assert (store(Work.UPGRADE), store(Work.CHECK), store(Work.BACKUP)) == (0, 0, 0)
    _, whole, made = capsys.readouterr().out.splitlines()
    assert whole.startswith("whole: ")
    assert made.startswith(f"{file}.backup-")
    file.write_bytes(b"no database at all" * 100)
    with pytest.raises(RefusedError, match=rf"sqlite:///{file} is damaged \("):
        store(Work.CHECK)
    assert capsys.readouterr().out == ""
    assert store(Work.RESTORE) == 0
    assert capsys.readouterr().out.endswith(
        f"{file} is restored; what was there is {file.name}.aside-1 now\n"
    )
    with pytest.raises(UsageError, match="is whole"):
        store(Work.RESTORE)
    assert store(Work.CHECK) == 0
