"""``deadwatch`` as a process that ends by itself."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType


def deadwatch(
    *arguments: str,
    within_s: float,
    directory: Path | None = None,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> "subprocess.CompletedProcess[str]":
    """Run to its end in ``directory``, with no settings of the collector but those in ``arguments``."""
    environment = {name: value for name, value in os.environ.items() if "COLLECTOR_" not in name}
    environment |= {"PYTHONPATH": os.pathsep.join(sys.path), **variables}
    return subprocess.run(
        [sys.executable, "-m", "cli", *arguments],
        capture_output=True,
        text=True,
        timeout=within_s,
        check=False,
        cwd=directory,
        env=environment,
    )
