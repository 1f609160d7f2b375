"""What installs the tests' Debian packages, with commands and places of the test's own."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.paths import ROOT

SCRIPT = (ROOT / "tests" / "install_packages.sh").read_text()
COMMANDS = {
    "id": "echo 0",
    "apt-get": '[ "$1" = update ] && exit; [ -x "$PLACE/policy" ] && touch "$PLACE/seen"; kill "-$END" $PPID',
}


@pytest.fixture
def script(tmp_path: Path) -> Path:
    for name, text in COMMANDS.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "debian-packages.txt").write_text(f"missing {tmp_path}/missing\n")
    places = {"/usr/sbin/policy-rc.d": "policy", "/etc/postgresql-common": "postgresql"}
    text = SCRIPT
    for theirs, ours in places.items():
        assert theirs in text
        text = text.replace(theirs, str(tmp_path / ours))
    file = tmp_path / "install_packages.sh"
    file.write_text(text)
    return file


@pytest.mark.parametrize("end", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_lets_packages_start_servers_again(end: signal.Signals, script: Path) -> None:
    place = script.parent
    environment = {"PATH": f"{place}:{os.environ['PATH']}", "PLACE": str(place), "END": str(end.value)}
    ended = subprocess.run(["/bin/sh", script], env=environment, capture_output=True, check=False)
    assert (place / "seen").exists(), ended.stderr
    assert not (place / "policy").exists()
    assert ended.returncode == 128 + end
