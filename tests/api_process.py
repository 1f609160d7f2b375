"""``python -m api`` as a process of its own."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.paths import ROOT
from tests.waiting import WITHIN_S, until

LISTENS: Final = re.compile(r"listening on (http://[^\s\"]+)[\s\"]")


@dataclass(frozen=True)
class Serving:
    """``url`` is where it listens."""

    process: "subprocess.Popen[bytes]"
    url: str
    log: Path


def started(log: Path, **settings: str) -> "subprocess.Popen[bytes]":
    """Start it with these settings, and with no other variable of its own."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("API_")}
    variables = {f"API_{name}".upper(): value for name, value in settings.items()}
    command = [sys.executable, "-m", "api"]
    with log.open("w") as stderr:
        return subprocess.Popen(command, cwd=ROOT, env=inherited | variables, stderr=stderr)


@contextmanager
def serving(directory: Path, **settings: str) -> Iterator[Serving]:
    """On a free port; it ends well with the context."""
    log = directory / "api.log"
    process = started(log, **{"port": "0", **settings})
    try:
        until(lambda: process.poll() is not None or LISTENS.search(log.read_text()), log.read_text)
        found = LISTENS.search(log.read_text())
        assert found, log.read_text()
        yield Serving(process, found[1], log)
        process.terminate()
        assert process.wait(WITHIN_S) == 0, log.read_text()
    finally:
        process.kill()
        process.wait()
