"""``deadwatch`` as a process that ends by itself."""

import os
import subprocess
import sys
from pathlib import Path


def deadwatch(
    *arguments: str, within_s: float, directory: Path | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run to its end in ``directory``, with no settings of the collector but those in ``arguments``."""
    environment = {name: value for name, value in os.environ.items() if "COLLECTOR_" not in name}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    return subprocess.run(
        [sys.executable, "-m", "cli", *arguments],
        capture_output=True,
        text=True,
        timeout=within_s,
        check=False,
        cwd=directory,
        env=environment,
    )
