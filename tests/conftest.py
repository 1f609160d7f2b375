"""Databases for the tests that need one which is a process; a test leaves logging as it was; no property is
tested against the clock; nothing but SQLite opens a store; a JVM starts quickly; no port is chosen twice;
what a test leaves open is its own failure; a failure shows the end of the logs of the processes involved.
"""

import gc
import logging
import os
import socketserver
import tempfile
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import settings
from sqlalchemy import Connection, create_engine

from deadwatch.runtime.process import QUIET
from deadwatch.store.store import Store
from lab import Lab
from lab.ports import COUNTER
from tests import postgres as servers
from tests.hostile_headers import READINGS, reading_as
from tests.paths import COUNTED
from tests.postgres import Postgres
from tests.store_guard import sitecustomize

# The gate draws the same examples each time: what fails there was changed, and is no luck.
settings.register_profile("gate", deadline=None, derandomize=True)
settings.register_profile("drawn", deadline=None)
settings.load_profile(os.environ.get("DEADWATCH_HYPOTHESIS", "gate"))

# A JVM of a test lives for seconds: what C2 and G1 cost in them is half of a start of Spark, and never pays.
QUICKLY = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
os.environ.setdefault("JDK_JAVA_OPTIONS", f"{QUICKLY} -Djava.io.tmpdir={tempfile.gettempdir()}")
os.environ.setdefault(COUNTER, str(Path(tempfile.gettempdir()) / COUNTED))

# A server of http.server ends when it looks next: not after half a second.
socketserver.BaseServer.serve_forever.__defaults__ = (0.01,)

DIRECTORY = Path(__file__).parent
LONG = (
    "integration/test_streaming.py",
    "integration/test_dashboards.py",
    "integration/test_rights.py",
    "integration/test_demo.py",
    "integration/test_lab.py",
    "integration/test_redrive_service.py",
    "integration/test_redrive_policies.py",
    "integration/test_redrive_spark.py",
    "integration/test_gaps.py",
    "integration/test_console.py",
    "integration/test_console_pages.py",
    "integration/test_console_roles.py",
    "integration/test_collector.py",
    "integration/test_redrive_refused.py",
    "integration/test_redrive_guards.py",
    "integration/test_redrive_rights.py",
    "integration/test_spark_masters.py",
    "integration/test_connect.py",
    "integration/test_chart_processes.py",
    "chart/test_image.py",
    "integration/test_redrive_mover.py",
    "integration/test_api_schemathesis.py",
    "integration/test_log_topics.py",
    "processes/test_gate.py",
    "processes/test_families.py",
)
"""What takes minutes begins first; what keeps the cores busy (Spark) stands between what waits (timeouts)."""

LIMITS_S = {
    "chart": 600,
    "integration/test_chart_processes.py": 600,
    "integration/test_console.py": 400,
    "integration/test_dashboards.py": 400,
    "integration/test_demo.py": 700,
    "integration/test_gaps.py": 400,
    "integration/test_redrive_policies.py": 400,
    "integration/test_redrive_service.py": 400,
    "integration/test_redrive_spark.py": 400,
    "integration/test_rights.py": 800,
    "integration/test_streaming.py": 800,
}
"""Where a hang is one later than ``timeout`` of pyproject.toml says: where the chart's tools are built, and
what takes a minute on a machine that does nothing else. A test that is several in one life of Spark or of
``deadwatch up`` has more than the limit of one.
"""

WITH_PROCESSES = {"chaos", "chart", "contract", "integration", "processes", "spark"}
LOG_NAMES = ("*.log", "*.err", "log")
LOGS, LOG_LINES = 8, 40
"""So many logs stand beside a failure, so many lines of each."""

opened_stores: list[str] = []
sitecustomize.install(opened_stores.append)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Workers take modules in this order: those that need a lab, which ends behind them; the many short ones
    at the end keep all of them busy.
    """
    places = {str(DIRECTORY / name): place for place, name in enumerate(LONG)}

    def place_of(item: pytest.Item) -> tuple[bool, int]:
        return item.path.parent != DIRECTORY / "integration", places.get(str(item.path), len(places))

    items.sort(key=place_of)
    for item in items:
        place = item.path.relative_to(DIRECTORY)
        for name in {place.parts[0], str(place)} & LIMITS_S.keys():
            item.add_marker(pytest.mark.timeout(LIMITS_S[name]))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Garbage is collected from here on; ``conftest.py`` says why not before."""
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """What is there before the first test is left open by none: collecting garbage does not go through it."""
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Beside what failed stands the end of each log that the test's processes have written."""
    report = yield
    if report.failed:
        report.sections += logs_of(getattr(item, "funcargs", {}))
    return report


def logs_of(fixtures: Mapping[str, object]) -> list[tuple[str, str]]:
    """Name and end of the newest logs in the test's own directory and in the lab's."""
    lab = fixtures.get("lab")
    places = [fixtures.get("tmp_path"), lab.logs.broker.parent if isinstance(lab, Lab) else None]
    within = [place for place in places if isinstance(place, Path)]
    logs = [log for place in within for name in LOG_NAMES for log in place.rglob(name) if log.is_file()]
    newest = sorted(logs, key=lambda log: log.stat().st_mtime)[-LOGS:]
    return [(str(log), last_lines(log)) for log in newest]


def last_lines(log: Path) -> str:
    """The end of a log."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-LOG_LINES:])


@pytest.fixture(autouse=True)
def _nothing_is_left_open(request: pytest.FixtureRequest) -> Iterator[None]:
    """What is garbage at the end of a test that uses connections or processes is found now: what it had open
    is an error of this test, not of a later one in which it happens to be collected.
    """
    yield
    if request.path.relative_to(DIRECTORY).parts[0] in WITH_PROCESSES:
        gc.collect()


@pytest.fixture(autouse=True)
def _nothing_but_sqlite_opens_a_store() -> Iterator[None]:
    """While SQLite has it open: its locks would go."""
    opened_stores.clear()
    yield
    assert opened_stores == []


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    """A command that a test runs in this process sets its logging up: that ends with the test."""
    root = logging.getLogger()
    handlers, levels = root.handlers[:], {name: logging.getLogger(name).level for name in (None, *QUIET)}
    yield
    for handler in root.handlers[:]:
        if handler not in handlers:
            root.removeHandler(handler)
    for name, level in levels.items():
        if (logger := logging.getLogger(name)).level != level:
            logger.setLevel(level)  # which forgets what all loggers have found out: 1 ms
    logging.captureWarnings(capture=False)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Postgres]:
    """One server for the session; skipped with the reason where PostgreSQL is not installed."""
    try:
        servers.binaries()
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    with servers.running() as server:
        yield server


@pytest.fixture
def postgres(postgres_server: Postgres) -> str:
    """The address of an empty database."""
    return postgres_server.database()


@pytest.fixture
def connection(url: str, store: Store) -> Iterator[Connection]:
    """To look into what the store of a suite wrote."""
    del store  # it has made the tables
    engine = create_engine(url)
    with engine.connect() as opened:
        yield opened
    engine.dispose()


@pytest.fixture(params=READINGS, ids=["built in", "first", "own", "own, first"])
def _reading(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every way of reading headers, one after the other."""
    with reading_as(request.param):
        yield
