"""A PostgreSQL server of a test's own: a temp directory, a free port on loopback, gone with the test."""

import contextlib
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg

from lab.ports import free_port

LIMIT_S = 30
USER = "postgres"
NEEDED = ("initdb", "postgres")


def binaries() -> Path:
    """The directory of the newest server there is.

    Raises:
        FileNotFoundError: names what is missing and what installs it.
    """
    found = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/postgres")]
    on_path = shutil.which("postgres")
    places = sorted(found, key=lambda place: float(place.parent.name)) or (
        [Path(on_path).parent] if on_path else []
    )
    if not places or not all((places[-1] / name).exists() for name in NEEDED):
        raise FileNotFoundError(
            f"no PostgreSQL server on this machine ({', '.join(NEEDED)}): apt-get install postgresql"
        )
    return places[-1]


class Postgres:
    """A server with one empty database after the other; ``stop`` and ``start`` keep its data."""

    def __init__(self, home: Path) -> None:
        self._bin = binaries()
        self._data = home / "data"
        self.password = secrets.token_hex(8)
        self.port = free_port()  # also over ``stop`` and ``start``
        if os.geteuid() == 0:
            account = pwd.getpwnam(USER)
            os.chown(home, account.pw_uid, account.pw_gid)
        self._databases = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._log = home / "log"
        self._make()

    def start(self) -> None:
        """Serve, and wait until it answers."""
        options = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            "fsync": "off",
            "max_connections": "50",
            "autovacuum": "off",  # its transactions are none of ours, and tests see every one
        }
        settings = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*_as_postgres(), str(self._bin / "postgres"), "-D", str(self._data), *settings],
                stdout=log,
                stderr=log,
            )
        deadline_s = time.monotonic() + LIMIT_S
        while not self._answers():
            if time.monotonic() > deadline_s or self._process.poll() is not None:
                raise RuntimeError(f"PostgreSQL did not start: {self._log.read_text()[-2_000:]}")
            time.sleep(0.05)

    def stop(self, number: int = signal.SIGINT) -> None:
        """End it: SIGINT closes every connection in good order, SIGQUIT as a crash would."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(LIMIT_S)
            self._process = None

    @contextlib.contextmanager
    def away(self, number: int = signal.SIGINT) -> Iterator[None]:
        """Inside, it has been stopped so."""
        self.stop(number)
        try:
            yield
        finally:
            self.start()

    @property
    def pid(self) -> int:
        """Of the server's first process."""
        assert self._process is not None
        return self._process.pid

    def database(self) -> str:
        """The address of a new database."""
        self._databases += 1
        name = f"test_{self._databases}"
        with psycopg.connect(self._conninfo("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return f"postgresql://{USER}:{self.password}@127.0.0.1:{self.port}/{name}"

    def _make(self) -> None:
        secret = self._data.with_name("password")
        secret.write_text(self.password)
        secret.chmod(0o644)
        subprocess.run(
            [
                *_as_postgres(),
                str(self._bin / "initdb"),
                *("-D", str(self._data), "-U", USER, "-A", "scram-sha-256", f"--pwfile={secret}"),
                *("-E", "UTF8", "--locale=C", "--no-sync"),
            ],
            check=True,
            capture_output=True,
            timeout=LIMIT_S,
        )

    def _conninfo(self, database: str) -> str:
        return (
            f"host=127.0.0.1 port={self.port} dbname={database} user={USER} password={self.password} "
            "connect_timeout=2"
        )

    def _answers(self) -> bool:
        with contextlib.suppress(psycopg.OperationalError), psycopg.connect(self._conninfo("postgres")):
            return True
        return False


@contextlib.contextmanager
def running() -> Iterator[Postgres]:
    """A server until the end of the block."""
    with tempfile.TemporaryDirectory(prefix="deadwatch-postgres-") as home:
        server = Postgres(Path(home))
        try:
            server.start()
            yield server
        finally:
            server.stop()


def _as_postgres() -> list[str]:
    """PostgreSQL refuses root; it ends with us, however we end."""
    if os.geteuid() != 0:
        return ["setpriv", "--pdeathsig", "INT"]
    return ["setpriv", "--pdeathsig", "INT", f"--reuid={USER}", f"--regid={USER}", "--init-groups"]
