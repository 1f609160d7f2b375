"""One run of the Ivy that pyspark bundles; checksums are verified on every download.

What Ivy has downloaded stays in its own cache, so a run that was interrupted is continued by the next one.
"""

import importlib.util
import re
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jars.cache import IVY_XML, Conf, JarsError
from jars.java import find_java

Progress = Callable[[str], None]

_PATTERN: Final = "[conf]/[artifact]-[revision](-[classifier]).[ext]"
_LOOK_EVERY_S: Final = 0.5
_UNREACHABLE: Final = re.compile(r"Server access error at url \S+ \((.+)\)")


@dataclass(frozen=True, slots=True)
class Seen:
    """What Ivy's log tells of a run that goes on."""

    found: int
    downloaded: int
    kilobytes: int

    def __str__(self) -> str:
        if not self.downloaded:
            return f"jars: resolving, {self.found} found"
        return f"jars: {self.downloaded} of {self.found}, {self.kilobytes // 1000} MB"


def run(
    ivy_home: Path, target: Path, log: Path, progress: Progress, *, lock: int, confs: Sequence[Conf]
) -> bool:
    """Resolve ``confs`` of ivy.xml into ``target``/<conf>/; whether Ivy succeeded. Its words go to ``log``.

    Ivy inherits the file descriptor ``lock``: should this process be killed, the lock is held until Ivy ends.
    """
    command: list[str | Path] = [
        find_java().path,
        f"-Divy.default.ivy.user.dir={ivy_home}",
        "-Divy.checksums=sha1,md5",
    ]
    command += ["-jar", _ivy_jar(), "-ivy", IVY_XML, "-confs", *confs, "-types", "jar", "bundle"]
    command += ["-cache", ivy_home / "cache", "-retrieve", f"{target}/{_PATTERN}"]
    with (
        log.open("wb") as output,
        subprocess.Popen(command, stdout=output, stderr=output, pass_fds=[lock]) as ivy,
    ):
        try:
            _watch(ivy, log, progress)
        except BaseException:
            ivy.kill()
            raise
        return ivy.returncode == 0


def look(log: str) -> Seen:
    """Read how far a run has come."""
    lines = log.splitlines()
    done = [line for line in lines if line.startswith("\t[SUCCESSFUL ]")]
    sizes = [line.rpartition("(")[2] for line in lines if line.startswith(".") and line.endswith("kB)")]
    return Seen(
        found=sum(line.startswith("\tfound ") for line in lines),
        downloaded=len(done),
        kilobytes=sum(int(size.removesuffix("kB)")) for size in sizes),
    )


def complaint(log: str) -> str:
    """Why a run failed: the network, else the line that names what is missing, else the last line."""
    unreachable = _UNREACHABLE.search(log)
    if unreachable:
        return unreachable.group(1)
    lines = [line for line in (line.strip(" :\t") for line in log.splitlines()) if line]
    telling = [line for line in lines if "not found" in line or "Exception" in line]
    return (telling or lines[-1:] or ["Ivy said nothing"])[0]


def _watch(ivy: subprocess.Popen[bytes], log: Path, progress: Progress) -> None:
    while ivy.poll() is None:
        progress(str(look(log.read_text(encoding="utf-8", errors="replace"))))
        time.sleep(_LOOK_EVERY_S)


def _ivy_jar() -> Path:
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise JarsError("pyspark is not installed: run `make setup`")
    jars = sorted(Path(spec.origin).with_name("jars").glob("ivy-*.jar"))
    if not jars:
        raise JarsError(f"pyspark holds no Ivy in {Path(spec.origin).with_name('jars')}: install it again")
    return jars[-1]
