"""Make the jars, once: lock, Ivy (three attempts), comparison with the manifest, rename.

Two calls at a time do not meet: the second waits for the first and finds everything there. Ivy is the one
that pyspark bundles, and verifies checksums on every download; what it has downloaded stays in its own cache,
so a run that was interrupted is continued by the next one. What is damaged there is downloaded anew.
"""

import fcntl
import importlib.util
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from jars import cache
from jars.cache import CONFS, IVY_XML, Conf, JarsError, Manifest
from jars.java import find_java

_ATTEMPTS: Final = 3
_WAIT_BETWEEN_S: Final = 2
_PATTERN: Final = "[conf]/[artifact]-[revision](-[classifier]).[ext]"
_LOOK_EVERY_S: Final = 0.5
_UNREACHABLE: Final = re.compile(r"Server access error at url \S+ \((.+)\)")

Progress = Callable[[str], None]


def resolve(progress: Progress = lambda _: None, confs: Sequence[Conf] = CONFS) -> Path:
    """The directory with the jars of ``confs``; downloads what is missing; ``progress`` gets short lines.

    Raises ``JarsError`` where they cannot be downloaded, or are not what the manifest names.
    """
    if not cache.is_complete(confs):
        with _locked(progress) as lock:
            if not cache.is_complete(confs):
                draft = _bring(progress, lock, confs)
                discard()
                draft.rename(cache.home())
    return cache.home()


def _bring(progress: Progress, lock: int, confs: Sequence[Conf]) -> Path:
    """What Ivy has brought, and the manifest names; Ivy itself does not look at what lies in its cache."""
    manifest = Manifest.read().of_confs(confs)
    draft = _run_ivy(progress, lock, confs)
    damaged = [path for path in manifest.damaged(draft) if (draft / path).is_file()]
    if damaged:
        progress(f"jars: downloading all anew, damaged in Ivy's cache: {', '.join(damaged)}")
        shutil.rmtree(_ivy_home())
        draft = _run_ivy(progress, lock, confs)
    compare(manifest, draft)
    return draft


def compare(manifest: Manifest, directory: Path) -> None:
    """Raise ``JarsError`` unless the directory holds what the manifest names, and nothing else."""
    unlike = manifest.damaged(directory) + manifest.unknown(directory)
    if unlike:
        shutil.rmtree(directory)
        raise JarsError(
            f"not what jars/manifest.txt names: {', '.join(unlike)}; if jars/ivy.xml was changed, "
            "`python -m jars --lock` writes the manifest anew; if not, they were changed on their way here, "
            "by a proxy or where they come from"
        )


def lock_versions(progress: Progress = lambda _: None) -> Manifest:
    """Download what ivy.xml asks for, and write the manifest of it."""
    with _locked(progress) as lock:
        manifest = Manifest.of(_run_ivy(progress, lock, CONFS))
        manifest.write()
    return manifest


def discard() -> None:
    """Remove the jars that were made; what Ivy downloaded stays, so that making them again is quick."""
    shutil.rmtree(cache.home(), ignore_errors=True)


def _run_ivy(progress: Progress, lock: int, confs: Sequence[Conf]) -> Path:
    """The directory of what Ivy has brought, beside the one that it becomes."""
    draft, log = cache.home().with_suffix(".draft"), cache.home().with_suffix(".log")
    reason = ""
    for attempt in range(1, _ATTEMPTS + 1):
        shutil.rmtree(draft, ignore_errors=True)
        if run_ivy(_ivy_home(), draft, log, progress, lock=lock, confs=confs):
            return draft
        reason = complaint(log.read_text(encoding="utf-8", errors="replace"))
        if attempt < _ATTEMPTS:
            progress(f"jars: attempt {attempt} of {_ATTEMPTS} failed ({reason}), once more")
            time.sleep(_WAIT_BETWEEN_S)
    raise JarsError(
        f"the jars could not be downloaded ({reason}): check the network and run it again, "
        f"it goes on where it stopped; Ivy's log is {log}"
    )


@contextmanager
def _locked(progress: Progress) -> Iterator[int]:
    home = cache.home()
    home.parent.mkdir(parents=True, exist_ok=True)
    with home.with_suffix(".lock").open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("jars: another process is making them, waiting")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle.fileno()


def run_ivy(
    ivy_home: Path, target: Path, log: Path, progress: Progress, *, lock: int, confs: Sequence[Conf]
) -> bool:
    """Resolve ``confs`` of ivy.xml into ``target``/<conf>/; whether Ivy succeeded. Its words go to ``log``.

    Ivy inherits the file descriptor ``lock``: should this process be killed, the lock is held until Ivy ends.
    """
    command: list[str | Path] = [find_java().path, f"-Divy.default.ivy.user.dir={ivy_home}"]
    command += ["-Divy.checksums=sha1,md5", "-jar", _ivy_jar(), "-ivy", IVY_XML, "-confs", *confs]
    command += ["-types", "jar", "bundle", "-cache", ivy_home / "cache", "-retrieve", f"{target}/{_PATTERN}"]
    with (
        log.open("wb") as output,
        subprocess.Popen(command, stdout=output, stderr=output, pass_fds=[lock]) as ivy,
    ):
        try:
            while ivy.poll() is None:
                progress(look(log.read_text(encoding="utf-8", errors="replace")))
                time.sleep(_LOOK_EVERY_S)
        except BaseException:
            ivy.kill()
            raise
        return ivy.returncode == 0


def look(log: str) -> str:
    """How far a run has come, as its log says."""
    lines = log.splitlines()
    found = sum(line.startswith("\tfound ") for line in lines)
    downloaded = sum(line.startswith("\t[SUCCESSFUL ]") for line in lines)
    sizes = [line.rpartition("(")[2] for line in lines if line.startswith(".") and line.endswith("kB)")]
    megabytes = sum(int(size.removesuffix("kB)")) for size in sizes) // 1_000
    return (
        f"jars: {downloaded} of {found}, {megabytes} MB" if downloaded else f"jars: resolving, {found} found"
    )


def complaint(log: str) -> str:
    """Why a run failed: the network, else the line that names what is missing, else the last line."""
    unreachable = _UNREACHABLE.search(log)
    if unreachable:
        return unreachable.group(1)
    lines = [line for line in (line.strip(" :\t") for line in log.splitlines()) if line]
    telling = [line for line in lines if "not found" in line or "Exception" in line]
    return (telling or lines[-1:] or ["Ivy said nothing"])[0]


def _ivy_home() -> Path:
    return cache.cache_root() / "ivy"


def _ivy_jar() -> Path:
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise JarsError("pyspark is not installed: run `make setup`")
    directory = Path(spec.origin).with_name("jars")
    found = max(directory.glob("ivy-*.jar"), default=None)
    if found is None:
        raise JarsError(f"pyspark holds no Ivy in {directory}: install it again")
    return found
