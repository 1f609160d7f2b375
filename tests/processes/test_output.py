"""What the command line does where its output takes no more."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import ROOT

FULL = Path("/dev/full")
"""Every write to it fails as on a full disk."""


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_a_full_disk_is_one_line_and_exit_code_1(argument: str) -> None:
    command = [sys.executable, "-m", "cli", argument]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with FULL.open("w") as full:
        failed = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=100,
            check=False,
        )
    assert failed.stderr == "deadwatch: cannot write the output: No space left on device\n"
    assert failed.returncode == 1


def test_a_process_without_an_output_does_its_work() -> None:
    command = ["/bin/sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-m", "cli", "--version"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True, timeout=100, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
