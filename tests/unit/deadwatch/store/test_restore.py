"""What becomes of a store that is damaged: what Kafka does not have is kept, as far as it can be read."""

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, insert

from deadwatch.orders.order import Status
from deadwatch.store import versions
from deadwatch.store.engine import connect
from deadwatch.store.errors import DamagedError, StoreError
from deadwatch.store.maintenance import Work, commands
from deadwatch.store.store import Store
from deadwatch.store.trouble import REMEDY
from deadwatch.store.write import audit
from deadwatch.store.write.audit import Entry
from deadwatch.store.write.dead_letters import Note, change_note
from deadwatch.store.write.orders import OrderBook
from deadwatch.store.write.policies import PolicyBook
from deadwatch.store.write.replacement import KEPT
from tests import landed_stores
from tests.console_store import empty_row
from tests.unit.deadwatch.store import suite
from tests.unit.deadwatch.store.suite import NOW_MS, order
from tests.unit.deadwatch.store.test_policies import policy
from tests.unit.deadwatch.store.test_replacement import MORE, OLD

ENTRIES = 3_000
"""Of the audit: they fill many pages of a file."""
PAGE = 4_096
DAY_MS = 86_400_000
COUNTED = b"delivery_timeout_batches"
"""On a page of counts of every store that has landed."""
HOLDER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("SELECT * FROM offsets").fetchall()
print("open", flush=True)
sys.stdin.read()
"""

Query = Callable[[str], list[tuple[Any, ...]]]

MAKES_TABLES = True
engine = suite.connections


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def query(file: Path) -> Query:
    def read(statement: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(file)) as connection:
            return connection.execute(statement).fetchall()

    return read


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with counts, and with something in every table that Kafka does not have."""
    file = tmp_path_factory.mktemp("written") / "deadwatch.db"
    engine = connect(f"sqlite:///{file}")
    with Store(f"sqlite:///{file}") as store:
        store.apply(OLD)
        with engine.begin() as connection:
            for table in KEPT:
                if not table.foreign_keys:
                    connection.execute(insert(table), empty_row(table))
            made = partial(Entry, at_ms=NOW_MS, who="ann", action="a")
            suite.keep_entries(connection, (made(why=f"entry {number:08}") for number in range(ENTRIES)))
            for fingerprint in ("f0", "wrong"):
                change_note(connection, fingerprint, archived, audit.unwitnessed)
        OrderBook(engine).create(order("beef"), "{}")
        PolicyBook(engine).create(policy("enabled"))
        engine.dispose()
    return file


@pytest.fixture(autouse=True)
def _copied(written: Path, file: Path) -> None:
    shutil.copy(written, file)


def archived(before: Note, records: int) -> Note:
    return replace(before, comment="see DW-1", archived_at_ms=NOW_MS, archived_records=records)


def overwrite(file: Path, *texts: bytes) -> None:
    """The page on which the text is: as a disk would, when nobody looks."""
    held = bytearray(file.read_bytes())
    for text in texts:
        start = held.index(text) // PAGE * PAGE
        held[start : start + PAGE] = b"\xa5" * PAGE
    file.write_bytes(held)


def entry(number: int) -> bytes:
    return b"entry %08d" % number


def run(work: Work, url: str, name: str = "") -> str:
    return commands.run(work, url, name, NOW_MS)


def backup(url: str, now_ms: int) -> Path:
    return Path(commands.run(Work.BACKUP, url, "", now_ms).split(": ")[0])


@contextmanager
def held(file: Path) -> Iterator[None]:
    """Another process is connected to it."""
    command = [sys.executable, "-c", HOLDER, str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"open\n"
        yield
        process.kill()


def test_a_whole_store_is_reported_as_whole_and_is_not_made_anew(url: str, file: Path) -> None:
    assert run(Work.CHECK, url) == f"whole: {url}: version {versions.known()[0]}, up to date"
    with pytest.raises(StoreError, match=r"is whole: to go back to a backup, name it, or say `newest`"):
        run(Work.RESTORE, url)
    assert not [*file.parent.glob("*.aside-*")]


def test_what_can_be_read_of_a_damaged_store_is_kept_and_the_rest_is_reported(
    url: str, file: Path, query: Query
) -> None:
    before = {table.name: query(f"SELECT * FROM {table.name}") for table in KEPT}  # noqa: S608
    overwrite(file, entry(0), entry(1_500), entry(ENTRIES - 1))
    with pytest.raises(DamagedError) as raised:
        run(Work.CHECK, url)
    assert str(raised.value) == f"{url} is damaged (not all of it can be read): {REMEDY}"

    printed = run(Work.RESTORE, url)

    assert "audit" in printed.split("(not all of it can be read)", 1)[0].split(", ")[-1]
    assert printed.count("(not all of it") == 1
    assert "there are no counts: streaming counts all that Kafka has" in printed
    assert f"what was there is {file.name}.aside-1 now" in printed
    kept = {row[7] for row in query("SELECT * FROM audit")}
    whys = {row[7] for row in before.pop("audit")}
    assert len(kept - whys) == 1  # what the restoring has written
    lost = whys - kept
    assert {f"entry {n:08}" for n in (0, 1_500, ENTRIES - 1)} <= lost
    assert len(lost) < 0.1 * ENTRIES  # three pages
    notes = before.pop("dead_letter_group_notes")
    for table, rows in before.items():
        assert query(f"SELECT * FROM {table}") == rows, table  # noqa: S608
    kept_notes = query("SELECT * FROM dead_letter_group_notes")
    assert [(row[0], row[3]) for row in kept_notes] == [(row[0], row[3]) for row in notes]
    # counted anew, a group has fewer records than when it was archived: new failures would stay hidden
    assert query("SELECT DISTINCT archived_records FROM dead_letter_group_notes") == [(0,)]
    assert run(Work.CHECK, url).startswith("whole")
    with Store(url) as store:
        assert store.offsets() == {}  # so everything is read again
        assert store.apply(OLD)
    assert query("SELECT records FROM dead_letter_groups ORDER BY fingerprint") == [(3,), (3,)]


@pytest.mark.parametrize("version", versions.known())
def test_a_damaged_store_of_a_landed_version_is_restored_at_the_version_of_today(
    url: str, file: Path, query: Query, version: str
) -> None:
    file.unlink()
    landed_stores.load(url, version)
    present = {name for (name,) in query("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    kept = [table.name for table in KEPT if table.name in present - {"audit"}]
    before = {name: query(f"SELECT count(*) FROM {name}") for name in kept}  # noqa: S608
    overwrite(file, COUNTED)
    with pytest.raises(DamagedError):
        run(Work.CHECK, url)
    printed = run(Work.RESTORE, url)
    assert "(not all of it can be read)" not in printed
    assert {name: query(f"SELECT count(*) FROM {name}") for name in kept} == before  # noqa: S608
    assert run(Work.CHECK, url) == f"whole: {url}: version {versions.known()[0]}, up to date"


def test_counts_come_from_the_newest_backup_that_is_whole_and_what_is_whole_goes_on(
    url: str, file: Path, query: Query, engine: Engine
) -> None:
    good, bad = backup(url, NOW_MS - DAY_MS), backup(url, NOW_MS)
    overwrite(bad, entry(7))
    totals = query("SELECT * FROM series ORDER BY name, labels")
    with Store(url) as store:
        store.apply(MORE)
    overwrite(file, entry(8))
    printed = run(Work.RESTORE, url)
    assert f"counts are those of {good.name}: streaming reads what came since from Kafka" in printed
    assert query("SELECT * FROM series ORDER BY name, labels") == totals
    assert {why for (why,) in query("SELECT why FROM audit")} >= {f"entry {n:08}" for n in range(ENTRIES)}
    assert OrderBook(engine).get("beef").status is Status.RUNNING, "it is as it was last: nobody has to look"


def test_a_backup_from_while_the_clock_was_ahead_is_not_the_newest(url: str) -> None:
    made, ahead = backup(url, NOW_MS), backup(url, NOW_MS + DAY_MS)
    assert f"counts are those of {made.name}" in run(Work.RESTORE, url, "newest")
    made.unlink()
    assert f"counts are those of {ahead.name}" in run(Work.RESTORE, url, "newest")


def test_a_backup_is_restored_as_it_was_and_what_was_there_is_kept(
    url: str, file: Path, query: Query, engine: Engine, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.db"
    run(Work.BACKUP, url, str(copy))
    assert copy.stat().st_mode & 0o777 == 0o600
    with pytest.raises(StoreError, match="is there already"):
        run(Work.BACKUP, url, str(copy))
    file.chmod(0o640)
    with engine.begin() as connection:
        audit.write(connection, Entry(at_ms=NOW_MS, who="ann", action="later"))
    engine.dispose()

    printed = run(Work.RESTORE, url, str(copy))

    assert "paused until somebody resumes them: 1 orders" in printed
    assert "switched off until somebody enables them: 1 policies" in printed
    assert OrderBook(engine).get("beef").status is Status.PAUSED
    assert query("SELECT id, enabled FROM redrive_policies WHERE id != ''") == [("enabled", 0)]
    (request,) = query("SELECT request FROM redrive_policies WHERE id = 'enabled'")[0]
    assert json.loads(request)["enabled"] is False
    assert query("SELECT count(*) FROM audit WHERE action = 'later'") == [(0,)]
    assert file.stat().st_mode & 0o777 == 0o640
    with closing(sqlite3.connect(f"{file}.aside-1")) as aside:
        assert aside.execute("SELECT count(*) FROM audit WHERE action = 'later'").fetchone() == (1,)


SCHEMAS = {
    "it tells in what is no text": (b"offsets (\n\ttopic", b"offsets [\n\t\xffopic"),
    "a column has another name": (b"\tmessage_pattern", b"\tmessage_Xattern"),
}


@pytest.mark.parametrize(("before", "after"), SCHEMAS.values(), ids=SCHEMAS)
def test_a_store_whose_schema_is_damaged_is_restored(
    url: str, file: Path, before: bytes, after: bytes
) -> None:
    held = file.read_bytes()
    assert before in held
    file.write_bytes(held.replace(before, after))
    overwrite(file, entry(7))
    with pytest.raises(DamagedError, match="is damaged"):
        run(Work.CHECK, url)
    assert f"{file} is restored" in run(Work.RESTORE, url)
    assert run(Work.CHECK, url).startswith("whole")


@pytest.mark.parametrize("begin", [b"not a database" * 300, b""], ids=["overwritten", "empty"])
def test_a_file_that_is_no_database_any_more_is_restored_from_a_backup(
    url: str, file: Path, query: Query, begin: bytes
) -> None:
    run(Work.BACKUP, url)
    file.write_bytes(begin + file.read_bytes()[len(begin) :] if begin else b"")
    printed = run(Work.RESTORE, url)
    assert "counts are those of" in printed
    assert "paused until" in printed
    assert query("SELECT count(*) FROM audit WHERE action = 'a'") == [(ENTRIES,)]


@pytest.mark.parametrize("name", ["", "newest", "copy.db"])
def test_a_store_that_somebody_uses_is_left_alone(url: str, file: Path, tmp_path: Path, name: str) -> None:
    run(Work.BACKUP, url)
    before = file.read_bytes()
    with held(file), pytest.raises(StoreError, match=r"in use: stop what works with it"):
        run(Work.RESTORE, url, name and str(tmp_path / name) if name == "copy.db" else name)
    assert file.read_bytes() == before


def test_what_is_no_usable_backup_is_refused(url: str, file: Path, tmp_path: Path) -> None:
    copy, text, foreign = tmp_path / "copy.db", tmp_path / "text", tmp_path / "foreign"
    run(Work.BACKUP, url, str(copy))
    overwrite(copy, entry(9))
    text.write_text("hello" * 1_000)
    with closing(sqlite3.connect(foreign)) as connection:
        connection.execute("CREATE TABLE customers (id INTEGER)")
    before = file.read_bytes()
    for name, why in (
        (str(copy), "is damaged: name another"),
        (str(text), "is damaged: name another"),
        (str(foreign), "tables that are not ours"),
        (str(tmp_path / "none"), "there is no file"),
        ("newest", "no backup beside"),
    ):
        with pytest.raises(StoreError, match=why):
            run(Work.RESTORE, url, name)
    assert file.read_bytes() == before


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'none' / 'store.db'}"
    for work in (Work.CHECK, Work.BACKUP, Work.RESTORE):
        with pytest.raises(StoreError, match="streaming makes it"):
            run(work, url)
    assert run(Work.STATUS, url).endswith("version none, empty: streaming or `upgrade` makes the tables")
    assert not (tmp_path / "none").exists()
    with pytest.raises(StoreError, match="`check` takes no file"):
        run(Work.CHECK, url, "copy.db")
