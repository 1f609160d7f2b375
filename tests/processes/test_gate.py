"""The gate itself: what is unstable, what is red, what is said at the end."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.command_line import ended
from tests.conftest import logs_of
from tests.paths import ROOT

FIRST_TIME = """
from pathlib import Path
def first_time(name):
    seen = Path({seen!r}) / name
    first = not seen.exists()
    seen.touch()
    return first
"""
UNSTABLE = """
def test_{name}(): assert not first_time("{name}"), "the lot fell on {name}"
"""
STABLE = """
def test_stable(): pass
"""
SHARED = """
import pytest
@pytest.fixture(scope="module")
def shared(): assert not first_time("shared"), "the lot fell on what they share"
@pytest.mark.parametrize("number", range(5))
def test_of_five(shared, number): pass
"""
SET_UP_EACH = """
import pytest
@pytest.fixture
def own(request): assert not first_time(request.node.name), f"the lot fell on {request.node.name}"
@pytest.mark.parametrize("number", range(2))
def test_of_two(own, number): pass
"""
RED = """
def test_red(): assert False
"""
ENDLESS = """
import threading
def test_endless(): threading.Event().wait()
"""
LEAKS = """
def test_leaks(): open(__file__)
"""
LEAVES = """
import subprocess, sys, tempfile
def test_leaves():
    tempfile.mkdtemp(prefix="forgotten-")
    subprocess.Popen([sys.executable, "-c", "import threading; threading.Event().wait()"])
"""

IN_BACKGROUND = ("/bin/sh", "-c", "trap '' INT; exec \"$@\"", "sh")
"""As a shell starts what runs in the background: it ignores SIGINT."""


@dataclass(frozen=True)
class Case:
    name: str
    tests: str
    code: int
    says: tuple[str, ...] = ()
    limit_s: str = "60"
    warnings: str = "default"


CASES = [
    Case("what fails twice is red", STABLE + RED, 1, ("1 failed: once more, alone", "test_red")),
    Case(
        "what fails once is unstable",
        STABLE + UNSTABLE.format(name="a"),
        0,
        ("unstable: 1 passed alone", "AssertionError: the lot fell on a", "::test_a\n"),
    ),
    Case(
        "three may be unstable",
        "".join(UNSTABLE.format(name=name) for name in "abc"),
        0,
        ("unstable: 3 passed",),
    ),
    Case(
        "four may not, with the set-up that each has of its own",
        SET_UP_EACH + UNSTABLE.format(name="a") + UNSTABLE.format(name="b"),
        1,
        ("4 failures of 4 tests: too many to be called unstable",),
    ),
    Case(
        "a set-up that five share fails once",
        SHARED,
        0,
        ("5 failed: once more, alone", "unstable: 5 passed", "the lot fell on what they share"),
    ),
    Case(
        "what does not end is named",
        STABLE + ENDLESS,
        2,
        ("the gate ends after 6 s, in the middle of:\n", "::test_endless\n"),
        limit_s="6",  # the start of pytest is within it, which takes a second, and longer on a busy machine
    ),
    Case(
        "where a leak was opened is said",
        LEAKS,
        1,
        ("Object allocated at", 'test_it.py", line 9\n'),
        warnings="error",
    ),
    Case(
        "what passes is green, what it leaves is named",
        LEAVES,
        0,
        ("1 passed", "left over:\n", "/forgotten-", "process "),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_gate(case: Case, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    seen.mkdir()
    file = tmp_path / "test_it.py"
    file.write_text(FIRST_TIME.format(seen=str(seen)) + case.tests)
    (tmp_path / "pytest.ini").write_text(f"[pytest]\nfilterwarnings = {case.warnings}\n")
    environment = {
        **os.environ,
        "DEADWATCH_GATE_LIMIT_S": case.limit_s,
        "TMPDIR": str(tmp_path),
        "PYTHONPATH": str(ROOT),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    command = [*IN_BACKGROUND, sys.executable, "-m", "tests.gate", "-p", "no:cacheprovider", file.name]
    done = ended(*command, cwd=tmp_path, env=environment)
    assert done.returncode == case.code, done.stdout + done.stderr
    for text in case.says:
        assert text in done.stdout


def test_beside_what_failed_stand_the_logs_that_can_be_read(tmp_path: Path) -> None:
    log = tmp_path / "up.log"
    log.write_text("the end\n")
    (tmp_path / "loop.log").symlink_to("loop.log")
    assert logs_of({"tmp_path": tmp_path}) == [(str(log), "the end")]
