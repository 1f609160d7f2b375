"""A family is frozen and killed as a whole, even one whose members come and go all the time."""

import subprocess
from collections.abc import Iterator

import psutil
import pytest

from tests import families
from tests.families import frozen
from tests.waiting import until

RESTLESS = "storm() { while :; do (/bin/true; /bin/true) & /bin/true; wait; done; }; storm & storm & wait"
"""Two shells that start processes without an end; each of these lives for a moment.

Whoever looks for those finds them by luck alone: where many other processes run, they are gone before the
look is over. That a shell goes on is seen from the processor time that it and its children have used.
"""


@pytest.fixture
def restless() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["/bin/sh", "-c", RESTLESS]) as process:
        try:
            until(lambda: len(psutil.Process(process.pid).children()) == 2, "the shells do not start")
            yield process
        finally:
            families.kill(process)


def used_s(process: psutil.Process) -> float:
    return float(sum(process.cpu_times()[:4]))


def test_who_stands_still_starts_nobody_and_goes_on(restless: subprocess.Popen[bytes]) -> None:
    root = psutil.Process(restless.pid)
    for _ in range(10):
        with frozen(root):
            family = set(root.children(recursive=True))
            running = [one for one in family | {root} if one.status() == psutil.STATUS_RUNNING]
            assert not running
            assert set(root.children(recursive=True)) == family
            used = {shell: used_s(shell) for shell in root.children()}
        until(
            lambda: all(used_s(shell) > before_s for shell, before_s in used.items()),  # noqa: B023 -- called at once
            "it does not go on",
        )


def test_nobody_outlives_the_kill(restless: subprocess.Popen[bytes]) -> None:
    root = psutil.Process(restless.pid)
    with frozen(root):
        family = root.children(recursive=True)
        families.kill(restless)
    assert not any(one.is_running() for one in family)


def test_a_family_without_its_root_is_refused() -> None:
    with subprocess.Popen(["/bin/sleep", "60"]) as process:
        root = psutil.Process(process.pid)
        families.kill(process)
    with pytest.raises(psutil.NoSuchProcess), frozen(root):
        pass
