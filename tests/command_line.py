"""Programs that end by themselves, ``deadwatch`` among them."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any


def ended(*command: str | Path, within_s: float = 120, **how: Any) -> "subprocess.CompletedProcess[str]":  # noqa: ANN401
    """A program at its end, whatever that was, and what it has said; ``how`` is for ``subprocess.run``."""
    return subprocess.run(command, capture_output=True, text=True, timeout=within_s, check=False, **how)


def succeeded(*command: str | Path, within_s: float = 120, **how: Any) -> str:  # noqa: ANN401
    """The output of a program that has to succeed."""
    done = ended(*command, within_s=within_s, **how)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def deadwatch(
    *arguments: str,
    within_s: float,
    directory: Path | None = None,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> "subprocess.CompletedProcess[str]":
    """Run to its end in ``directory``, with no settings of the collector but those in ``arguments``."""
    environment = {name: value for name, value in os.environ.items() if "COLLECTOR_" not in name}
    environment |= {"PYTHONPATH": os.pathsep.join(sys.path), **variables}
    command = (sys.executable, "-m", "cli", *arguments)
    return ended(*command, within_s=within_s, cwd=directory, env=environment)
