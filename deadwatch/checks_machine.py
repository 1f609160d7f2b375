"""What the service needs of this machine: Python, Java, jars, disk, port, log files."""

import glob
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import jars
from api.checks.finding import Finding, fail, ok, warn
from collector.settings_file import SettingsError
from deadwatch.service import Service
from deadwatch.up import require_free
from jars.manifest import Manifest

OLDEST_PYTHON = (3, 11)
LITTLE_DISK_BYTES = 1 << 30


def python() -> Iterator[Finding]:
    """A Python that is new enough."""
    if sys.version_info >= OLDEST_PYTHON:
        yield ok("Python", platform.python_version())
    else:
        yield fail("Python", platform.python_version(), "install Python 3.11 or newer")


def java() -> Iterator[Finding]:
    """A Java that Spark runs on, and the jars it runs with."""
    try:
        found = jars.find_java()
        yield ok("Java", f"{found.version} at {found.path}")
    except jars.JavaError as error:
        yield fail("Java", "not usable", str(error))


def archives() -> Iterator[Finding]:
    """Every jar is there and holds what it held when it was made."""
    try:
        home = jars.directory("spark").parent
    except jars.JarsError as error:
        yield fail("jars", "missing", str(error))
        return
    manifest = Manifest.read(home)
    damaged = manifest.damaged(home) if manifest else ["manifest.json"]
    if damaged:
        yield fail(
            "jars", f"damaged: {', '.join(damaged)}", "run `python -m jars --verify`, then `python -m jars`"
        )
    else:
        yield ok("jars", f"{len(manifest.jars) if manifest else 0} verified")


def data(service: Service) -> Iterator[Finding]:
    """The data directory can be written and has room."""
    place = next(path for path in (service.data, *service.data.absolute().parents) if path.exists())
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        yield fail("data directory", f"{place} cannot be written", "give another --data DIR")
        return
    free = shutil.disk_usage(place).free
    seen = f"{service.data}, {free / (1 << 30):.1f} GiB free"
    if free < LITTLE_DISK_BYTES:
        yield warn("data directory", seen, "make room: the store and Spark's checkpoint grow to some 100 MB")
    else:
        yield ok("data directory", seen)


def port(service: Service) -> Iterator[Finding]:
    """The api's port is free."""
    address = f"{service.api.host}:{service.api.port}"
    try:
        require_free(service.api.host, service.api.port)
        yield ok("port", f"{address} is free")
    except SettingsError:
        yield fail("port", f"{address} is taken", "stop what listens there or give another --port")


def logs(service: Service) -> Iterator[Finding]:
    """The log files to follow are there and may be read."""
    if not (service.collector.logs or service.collector.log_topics):
        yield warn("logs", "none to follow", "give --log GLOB: task and delivery timeouts are only in logs")
    for followed in service.collector.logs:
        files = [Path(name) for name in glob.glob(followed.path, recursive=True)]  # noqa: PTH207 -- globs may be absolute
        closed = [file for file in files if not os.access(file, os.R_OK)]
        if not files:
            yield warn(
                "log", f"{followed.path} matches no file", "fine if it is still to come; else correct --log"
            )
        elif closed:
            yield fail("log", f"{closed[0]} cannot be read", "give this user the right to read it")
        else:
            yield ok("log", f"{followed.path}, {len(files)} {'file' if len(files) == 1 else 'files'}")
