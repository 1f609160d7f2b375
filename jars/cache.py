"""Where the jars lie, and what must be there: size and SHA-256 of every file, as ``jars/manifest.txt`` says.

    <cache>/ivy/                 what Ivy downloaded, shared by every version of ivy.xml
    <cache>/jars/<key>/<conf>/   the jars of one version of ivy.xml, key = first 12 hex of its SHA-256
    <cache>/jars/<key>.log       what Ivy said when it made them

``<cache>`` is ``DEADWATCH_CACHE``, else ``deadwatch`` in the user's cache directory (XDG). The manifest is
part of the repository, so a jar that somebody has changed on its way is refused on the first machine as well.
"""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, Self, get_args

Conf = Literal["spark", "kafka", "apps", "agents", "spring"]
CONFS: Final[tuple[Conf, ...]] = get_args(Conf)
MANIFEST: Final = Path(__file__).with_name("manifest.txt")
IVY_XML: Final = Path(__file__).with_name("ivy.xml")


class JarsError(Exception):
    """The jars are not there or could not be made; the message says what to do."""


def cache_root() -> Path:
    """The project's directory among the user's caches."""
    chosen = os.environ.get("DEADWATCH_CACHE")
    if chosen:
        return Path(chosen).expanduser().resolve()
    xdg = os.environ.get("XDG_CACHE_HOME")
    return (Path(xdg) if xdg else Path.home() / ".cache") / "deadwatch"


def home() -> Path:
    """The directory of the jars that today's ivy.xml asks for, whether it exists or not."""
    return cache_root() / "jars" / hashlib.sha256(IVY_XML.read_bytes()).hexdigest()[:12]


def directory(conf: Conf) -> Path:
    """The directory that holds the jars of ``conf``."""
    if not is_complete((conf,)):
        raise JarsError(f"the jars are not in {home()}: run `make setup`")
    return home() / conf


def files(conf: Conf) -> list[Path]:
    """The jars of ``conf``, sorted by name."""
    return sorted(directory(conf).glob("*.jar"))


def classpath(conf: Conf) -> str:
    """The jars of ``conf`` as Java's ``-cp`` takes them."""
    return str(directory(conf) / "*")


def is_complete(confs: Sequence[Conf] = CONFS) -> bool:
    """Whether every jar of ``confs`` is there, by its size; ``python -m jars --verify`` reads them."""
    return not Manifest.read().of_confs(confs).missing(home())


def present() -> list[Conf]:
    """The configurations of which there are jars here: an image has Spark's alone."""
    return [conf for conf in CONFS if (home() / conf).is_dir()]


@dataclass(frozen=True, slots=True)
class Jar:
    """One file as it was when it was made."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The files of one directory, by path relative to it: ``<conf>/<name>.jar``."""

    jars: tuple[Jar, ...]

    @classmethod
    def of(cls, directory: Path) -> Self:
        """Describe the jars that are in ``directory`` now."""
        found = sorted(directory.rglob("*.jar"))
        return cls(tuple(Jar(str(f.relative_to(directory)), f.stat().st_size, _sha256(f)) for f in found))

    @classmethod
    def read(cls, file: Path = MANIFEST) -> Self:
        """The manifest of the repository. Raises ``JarsError`` where it cannot be read."""
        try:
            rows = [line.split() for line in file.read_text(encoding="utf-8").splitlines()]
            return cls(tuple(Jar(path, int(size), sha256) for sha256, size, path in rows))
        except (OSError, ValueError) as error:
            raise JarsError(f"{file.name} cannot be read ({error}): install the program again") from error

    def of_confs(self, confs: Sequence[str]) -> Self:
        """Its part for these configurations."""
        return replace(self, jars=tuple(jar for jar in self.jars if jar.path.partition("/")[0] in confs))

    def write(self, file: Path = MANIFEST) -> None:
        """Write it: digest, size and path, a line for each jar."""
        file.write_text("".join(f"{jar.sha256} {jar.size:>9} {jar.path}\n" for jar in self.jars))

    def missing(self, directory: Path) -> list[str]:
        """The files that are absent or have another size."""
        return [jar.path for jar in self.jars if _size(directory / jar.path) != jar.size]

    def damaged(self, directory: Path) -> list[str]:
        """The files that are absent or have other contents."""
        missing = set(self.missing(directory))
        return [
            jar.path
            for jar in self.jars
            if jar.path in missing or _sha256(directory / jar.path) != jar.sha256
        ]

    def unknown(self, directory: Path) -> list[str]:
        """The jars in the directory that it does not name."""
        found = {str(file.relative_to(directory)) for file in directory.rglob("*.jar")}
        return sorted(found - {jar.path for jar in self.jars})


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return -1


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
