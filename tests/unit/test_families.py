"""A family is frozen and killed as a whole, even one whose members come and go all the time."""

import subprocess
from collections.abc import Iterator

import psutil
import pytest

from tests import families
from tests.families import frozen
from tests.waiting import until

RESTLESS = "while :; do /bin/true; (/bin/true; /bin/true) & done"
"""A shell that starts processes without an end; each lives for a moment."""


@pytest.fixture
def restless() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["/bin/sh", "-c", RESTLESS]) as process:
        try:
            yield process
        finally:
            families.kill(process)


def test_who_stands_still_starts_nobody_and_goes_on(restless: subprocess.Popen[bytes]) -> None:
    root = psutil.Process(restless.pid)

    def seen() -> set[psutil.Process]:
        return set(root.children(recursive=True))

    for _ in range(10):
        with frozen(root):
            family = seen()
            running = [one for one in family | {root} if one.status() == psutil.STATUS_RUNNING]
            assert not running
            assert seen() == family
        until(lambda: seen() - family, "it does not go on")  # noqa: B023 -- called at once


def test_nobody_outlives_the_kill(restless: subprocess.Popen[bytes]) -> None:
    root = psutil.Process(restless.pid)
    until(root.children, "it starts nobody")
    with frozen(root):
        family = root.children(recursive=True)
        families.kill(restless)
    assert not any(one.is_running() for one in family)


def test_a_family_without_its_root_is_refused() -> None:
    with subprocess.Popen(["/bin/sh", "-c", RESTLESS]) as process:
        root = psutil.Process(process.pid)
        families.kill(process)
    with pytest.raises(psutil.NoSuchProcess), frozen(root):
        pass
