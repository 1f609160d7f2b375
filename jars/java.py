"""Which Java runs the jars: JAVA_HOME's, else the one on the PATH; it must be 17 or 21."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SUPPORTED: Final = (17, 21)
_SUPPORTED: Final = " or ".join(map(str, SUPPORTED))
_VERSION: Final = re.compile(r'version "(?:1\.)?(\d+)')
_ANSWER_WITHIN_S: Final = 30


class JavaError(Exception):
    """No Java that fits; the message names the command that installs one."""


class BrokenJavaError(JavaError):
    """It is there and does not start, or does not answer: another time it may, where memory was short."""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java launcher and its feature release (17, 21)."""

    path: Path
    version: int


def find_java() -> Java:
    """The Java to use; raises JavaError where none or another version is installed, or it is broken."""
    java_home, install = os.environ.get("JAVA_HOME"), install_command(sys.platform)
    found = shutil.which("java", path=str(Path(java_home) / "bin")) if java_home else shutil.which("java")
    if found is None:
        raise JavaError(f"Java {_SUPPORTED} is needed and none was found: {install}")
    version = parse_version(_ask_version(Path(found), install))
    if version not in SUPPORTED:
        release = "of an unknown version" if version is None else str(version)
        raise JavaError(f"Java {_SUPPORTED} is needed, {found} is Java {release}: {install}")
    return Java(Path(found), version)


def parse_version(answer: str) -> int | None:
    """The feature release in what ``java -version`` prints; 8 for "1.8.0_402", None where there is none."""
    match = _VERSION.search(answer)
    return int(match.group(1)) if match else None


def install_command(platform: str) -> str:
    """What to type to get a Java that fits."""
    if platform == "darwin":
        return "brew install openjdk@17, then set JAVA_HOME to $(brew --prefix openjdk@17)"
    return "apt-get install openjdk-17-jre-headless (or your system's package), or set JAVA_HOME"


def _ask_version(path: Path, install: str) -> str:
    try:
        answer = subprocess.run(
            [path, "-version"], capture_output=True, text=True, timeout=_ANSWER_WITHIN_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BrokenJavaError(f"{path} does not start ({error}): {install}") from error
    if answer.returncode:
        first = next(iter(answer.stderr.splitlines()), "without a word")
        raise BrokenJavaError(f"{path} does not start ({first}): {install}")
    return answer.stderr + answer.stdout
