"""``deadwatch demo`` and ``deadwatch lab`` on a machine that lacks what Kafka runs on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import ROOT

LACKING = {
    "Java": ("JAVA_HOME", "deadwatch: Java 17 or 21 is needed and none was found: "),
    "jars": ("DEADWATCH_CACHE", "deadwatch: the jars are not in "),
}


@pytest.mark.parametrize("command", ["demo --once", "lab"])
@pytest.mark.parametrize(("variable", "said"), LACKING.values(), ids=LACKING)
def test_what_is_missing_is_one_line(command: str, variable: str, said: str, tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(temporary), variable: str(tmp_path)}
    failed = subprocess.run(
        [sys.executable, "-m", "cli", *command.split()],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (failed.returncode, failed.stderr.count("\n")) == (1, 1), failed.stderr
    assert failed.stderr.startswith(said)
    assert not list(temporary.iterdir())
