"""A disk that is full, of the store and of the checkpoint: said in one line, and nothing is lost or twice."""

import os
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import Lab
from streaming.failure import DISK_FULL
from tests.integration.test_streaming import Streaming, Traffic, eventually, settled

pytestmark = pytest.mark.integration

STORE_FULL = "the store does not work, its disk is full: make room there; the query waits for it"
SIZE = "16m"


class Disk:
    """A file system of its own, small enough to be filled."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self._filler = place / "filler"

    def fill(self) -> None:
        """Leave not a byte."""
        with self._filler.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(1 << 12))
            except OSError:
                return

    def make_room(self) -> None:
        """Take away what fills it."""
        self._filler.unlink()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    place = tmp_path / "disk"
    place.mkdir()
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if mount is None or umount is None:
        pytest.skip("a full disk needs a file system of its own: apt-get install mount")
    mounted = subprocess.run(
        [mount, "-t", "tmpfs", "-o", f"size={SIZE},mode=0755,uid={os.getuid()}", "tmpfs", str(place)],
        check=False,
        capture_output=True,
    )
    if mounted.returncode:
        pytest.skip("a full disk needs a file system of its own, and this user may not mount one")
    yield Disk(place)
    subprocess.run([umount, str(place)], check=True)


@pytest.fixture
def traffic(lab: Lab) -> Traffic:
    return Traffic(lab.bootstrap_servers, f"full-{uuid.uuid4().hex[:8]}")


def fails_and_recovers(streaming: Streaming, traffic: Traffic, disk: Disk, line: str) -> None:
    traffic.write()
    with streaming.running():
        assert settled(streaming, traffic), streaming.log()
        disk.fill()
        traffic.write()
        assert eventually(lambda: line in streaming.log()), streaming.log()
        traffic.write()
        disk.make_room()
        assert settled(streaming, traffic), (streaming.totals(), dict(traffic.truth), streaming.log())
    traffic.write(1)
    with streaming.running():  # the checkpoint was left as it should be
        assert settled(streaming, traffic), (streaming.totals(), dict(traffic.truth), streaming.log())
    assert "cannot be used" not in streaming.log()
    assert "Traceback" not in streaming.log()


def test_a_full_disk_of_the_store_is_waited_for(
    lab: Lab, traffic: Traffic, disk: Disk, tmp_path: Path
) -> None:
    url = f"sqlite:///{disk.place / 'deadwatch.db'}"
    streaming = Streaming(lab.bootstrap_servers, traffic, tmp_path, url)
    fails_and_recovers(streaming, traffic, disk, STORE_FULL)


def test_a_full_disk_of_the_checkpoint_is_waited_for(
    lab: Lab, traffic: Traffic, disk: Disk, tmp_path: Path
) -> None:
    streaming = Streaming(lab.bootstrap_servers, traffic, tmp_path, checkpoint=disk.place / "checkpoint")
    fails_and_recovers(streaming, traffic, disk, DISK_FULL)
