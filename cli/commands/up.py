"""``deadwatch up``: the processes under one supervisor, until Ctrl-C or another signal asks for the end."""

import fcntl
import logging
import os
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cli.api_client import http_client
from cli.commands.ready import look
from cli.service import Service
from cli.supervisor import Supervisor
from deadwatch.runtime.process import OTHERS, SettingsError, configure_logging

READY_POLL_S = 0.2
READY_WITHIN_S = 2
TEMPORARY = "deadwatch-tmp"

log = logging.getLogger(__name__)


def run(service: Service) -> int:
    """Run the service in the foreground; the exit code.

    Raises:
        SettingsError: the port or the data directory belongs to somebody else.
    """
    os.umask(OTHERS)
    configure_logging("deadwatch", form=service.api.log_format)
    require_free(service.api.host, service.api.port)
    with locked(service.data), temporary_files(service.data):
        service.admit_local_user()
        supervisor = Supervisor(service.programs())
        supervisor.stop_on_signals()
        threading.Thread(target=_announce, args=(service.url,), daemon=True).start()
        return supervisor.run()


@contextmanager
def locked(data: Path) -> Iterator[None]:
    """Hold the data directory: two services on one store would fence each other for ever."""
    try:
        data.mkdir(parents=True, exist_ok=True)
        lock = (data / "lock").open("w")
    except OSError as error:
        raise SettingsError(f"cannot write to {data}: {error.strerror}; give another --data DIR") from None
    if data.stat().st_mode & OTHERS:
        log.warning("others may look into %s, where payloads of dead letters are: chmod 700 %s", data, data)
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SettingsError(f"another deadwatch runs on {data}; give another --data DIR") from None
        yield


@contextmanager
def temporary_files(data: Path) -> Iterator[None]:
    """Let the processes keep their temporary files in the data directory, which is locked: what a service
    that was killed has left there is removed. The directory's name is our own: others may have a ``tmp``.

    Raises:
        SettingsError: they cannot be there, as on a full disk.
    """
    place = data.absolute() / TEMPORARY
    shutil.rmtree(place, ignore_errors=True)
    try:
        place.mkdir(exist_ok=True)
    except OSError as error:
        raise SettingsError(f"cannot write to {place}: {error.strerror}; give another --data DIR") from None
    os.environ["TMPDIR"] = str(place)
    try:
        yield
    finally:
        shutil.rmtree(place, ignore_errors=True)


def require_free(host: str, port: int) -> None:
    """Raise ``SettingsError`` for an address that cannot be bound."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise SettingsError(
                f"cannot listen on {host}:{port}: {error.strerror}; give another --port"
            ) from None


def _announce(url: str) -> None:
    with http_client(url, READY_WITHIN_S) as client:
        while look(client, ()):
            time.sleep(READY_POLL_S)
    print(f"Deadwatch is up: {url}/docs  console: {url}/console/  metrics: {url}/metrics", flush=True)
