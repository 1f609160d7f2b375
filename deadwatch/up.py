"""``deadwatch up``: the processes under one supervisor, until told to stop."""

import fcntl
import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

from collector.process import configure_logging
from collector.settings_file import SettingsError
from deadwatch.service import Service
from deadwatch.supervisor import Supervisor

READY_POLL_S = 0.2

log = logging.getLogger(__name__)


def run(service: Service) -> int:
    """Run the service in the foreground; the exit code.

    Raises:
        SettingsError: the port or the data directory belongs to somebody else.
    """
    configure_logging("deadwatch", form=service.api.log_format)
    require_free(service.api.host, service.api.port)
    with locked(service.data):
        service.admit_local_user()
        supervisor = Supervisor(service.programs())
        supervisor.switch.on_signals()
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
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SettingsError(f"another deadwatch runs on {data}; give another --data DIR") from None
        yield


def require_free(host: str, port: int) -> None:
    """Refuse an address that cannot be bound."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise SettingsError(
                f"cannot listen on {host}:{port}: {error.strerror}; give another --port"
            ) from None


def ready(url: str) -> bool:
    """Whether the api says that it is ready."""
    try:
        return httpx2.get(f"{url}/readyz", timeout=2, trust_env=False).is_success
    except httpx2.TransportError:
        return False


def _announce(url: str) -> None:
    while not ready(url):
        time.sleep(READY_POLL_S)
    print(f"Deadwatch is up: {url}/docs  console: {url}/console/  metrics: {url}/metrics", flush=True)
