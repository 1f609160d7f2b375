"""What a directory of jars must hold: size and SHA-256 of every file, in ``manifest.json`` beside them."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

NAME: Final = "manifest.json"


@dataclass(frozen=True, slots=True)
class Jar:
    """One file as it was when it was made."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The files of one directory, by path relative to it."""

    jars: tuple[Jar, ...]

    @classmethod
    def of(cls, directory: Path) -> Self:
        """Describe the jars that are in ``directory`` now."""
        found = sorted(directory.rglob("*.jar"))
        return cls(tuple(Jar(str(f.relative_to(directory)), f.stat().st_size, _sha256(f)) for f in found))

    @classmethod
    def read(cls, directory: Path) -> Self | None:
        """The manifest written into ``directory``; None where there is none that can be read."""
        try:
            rows = json.loads((directory / NAME).read_text(encoding="utf-8"))
            return cls(tuple(Jar(**row) for row in rows))
        except (OSError, ValueError, TypeError):
            return None

    @property
    def confs(self) -> set[str]:
        """The configurations that it has jars of."""
        return {jar.path.partition("/")[0] for jar in self.jars}

    def write(self, directory: Path) -> None:
        """Write the manifest in one step: a reader sees all of it or none."""
        rows = [{"path": jar.path, "size": jar.size, "sha256": jar.sha256} for jar in self.jars]
        draft = directory / f"{NAME}.draft"
        draft.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        draft.replace(directory / NAME)

    def missing(self, directory: Path) -> list[str]:
        """The files that are absent or have another size."""
        return [jar.path for jar in self.jars if _size(directory / jar.path) != jar.size]

    def damaged(self, directory: Path) -> list[str]:
        """The files that are absent or have other contents."""
        absent = set(self.missing(directory))
        return [
            jar.path for jar in self.jars if jar.path in absent or _sha256(directory / jar.path) != jar.sha256
        ]


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return -1


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
