"""An environment that has the packages of ``requirements.lock`` before anybody installs them.

The tests' own environment got the same files by the same hashes, with more beside them; they are linked.
"""

import os
import re
import shutil
import sysconfig
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Final

from tests.chart.tools import ROOT

LOCK: Final = ROOT / "requirements.lock"
MADE_WITH_IT: Final = {"pip", "setuptools"}
"""What an environment has from its beginning, and replaces: a link would be followed."""


def locked() -> set[str]:
    """The names of the packages."""
    return set(re.findall(r"^([a-z0-9.-]+)==", LOCK.read_text(), re.MULTILINE)) - MADE_WITH_IT


def fill(environment: Path) -> None:
    """Put the packages where a virtual environment will look for them."""
    here = Path(sysconfig.get_path("purelib"))
    there = environment / here.relative_to(sysconfig.get_path("data"))
    for file in filter(lambda file: (here / file).is_file(), files()):
        target = there / file
        target.parent.mkdir(parents=True, exist_ok=True)
        link(here / file, target)


def files() -> Iterator[Path]:
    """All files of the packages, but their programs; some that were compiled may be gone since."""
    names = locked()
    for distribution in metadata.distributions():
        name = re.sub(r"[-_.]+", "-", distribution.metadata["Name"]).lower()
        if name in names:
            yield from (Path(file) for file in distribution.files or () if file.parts[0] != "..")


def link(source: Path, target: Path) -> None:
    """One file; copied where it is on another disk."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
