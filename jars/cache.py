"""Where the jars lie.

    <cache>/ivy/                 what Ivy downloaded, shared by every version of ivy.xml
    <cache>/jars/<key>/<conf>/   the jars of one version of ivy.xml, key = first 12 hex of its SHA-256
    <cache>/jars/<key>.log       what Ivy said when it made them

``<cache>`` is ``DEADWATCH_CACHE``, else ``deadwatch`` in the user's cache directory (XDG). A directory with a
manifest is whole: it is renamed into place only when every jar is in it.
"""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

from jars.manifest import Manifest

Conf = Literal["spark", "kafka", "apps", "agents"]
CONFS: Final[tuple[Conf, ...]] = ("spark", "kafka", "apps", "agents")
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
    manifest = Manifest.read(home())
    return manifest is not None and manifest.confs >= set(confs) and not manifest.missing(home())
