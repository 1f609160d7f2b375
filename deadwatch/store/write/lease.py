"""One stream writes a store at a time: a lease with an epoch, checked in the transaction of every batch.

A second stream watches the lease for as long as its owner promised to beat: a beat means that it is alive,
and the second is refused; silence means that it is gone, and the second takes over. It uses
only its own clock. An owner that ended on the same machine, by SIGKILL included, is known to be gone at once.
An owner that resumes after it was taken over (a long pause, a cut network) finds a higher epoch and writes
nothing.
"""

import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any, Final

import psutil
from sqlalchemy import Connection, Engine, Row, select, update

from deadwatch.store.errors import FencedError, HeldError, RebuiltError
from deadwatch.store.schema import leases
from deadwatch.store.statements import Values, insert, upsert

STREAMING: Final = "streaming"
REBUILT: Final = "a backfill"
"""The holder of a store that a backfill has rebuilt and nobody has written since."""
DISPLACED: Final = "displaced"
"""The row whose holder has displaced the last owner."""
FREE: Final[Values] = {"epoch": 0, "beats": 0, "ttl_ms": 0, "holder": "", "process": ""}
NAMESPACE: Final = Path("/proc/self/ns/pid")
BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
ENDED: Final = frozenset({b"Z", b"X"})
"""States of a process that has ended and whose parent has not looked (``man proc_pid_stat``)."""
START: Final = 18
"""When a process began, among the fields after its state: in ticks since the boot."""
UNKNOWN: Final = "unknown"
LOOK_MS: Final = 200
"""How often a stream that waits looks at the lease."""


@dataclass(frozen=True, slots=True)
class Owner:
    """A process. ``place`` is its host and PID namespace, ``started`` distinguishes processes of one pid."""

    place: str
    pid: int
    started: str

    @property
    def holder(self) -> str:
        """The owner as people read it: ``pid 7 on host``."""
        return f"pid {self.pid} on {self.place.split('|', maxsplit=1)[0]}"

    @property
    def token(self) -> str:
        """The text by which ``is_gone`` recognises the owner."""
        return f"{self.place}|{self.pid}|{self.started}"

    def is_gone(self, token: str) -> bool:
        """Whether ``token`` is of a process of our machine that has ended; false where we cannot know.

        So it is for the token of an earlier version, which has a part less: its place is never ours.
        """
        place, pid, *started = token.rsplit("|", 3)
        return place == self.place and _started(int(pid)) not in {"|".join(started), UNKNOWN}


def this_process() -> Owner:
    """The owner for the process that runs this."""
    namespace = str(NAMESPACE.readlink()) if NAMESPACE.exists() else ""
    return Owner(f"{socket.gethostname()}|{namespace}", os.getpid(), _started(os.getpid()))


def _started(pid: int) -> str:
    """When a process began, and the boot that this is counted from; "" when it has ended.

    A clock that is set moves neither. Where the system tells no boot, it is the time of day.
    """
    try:
        return _by_ticks(pid, BOOT.read_text().strip()) if BOOT.exists() else _by_the_clock(pid)
    except (FileNotFoundError, ProcessLookupError, psutil.NoSuchProcess):
        return ""
    except (PermissionError, psutil.AccessDenied):
        return UNKNOWN


def _by_ticks(pid: int, boot: str) -> str:
    stat = Path(f"/proc/{pid}/stat").read_bytes()
    state, *fields = stat.rpartition(b")")[2].split()  # before it is the program's name, whatever that holds
    return "" if state in ENDED else f"{int(fields[START])}|{boot}"


def _by_the_clock(pid: int) -> str:
    process = psutil.Process(pid)
    return "" if process.status() == psutil.STATUS_ZOMBIE else f"{process.create_time():.2f}|"


def acquire(
    engine: Engine, owner: Owner, *, ttl_ms: int, stop: Event, now_ms: Callable[[], int]
) -> int | None:
    """The epoch of the lease, when it is free or its owner is gone; None when ``stop`` was set first.

    Every write compares the epoch.

    Raises ``HeldError``: its owner is alive.
    """
    watched, since_ms = None, 0
    while not stop.is_set():
        seen_ms = now_ms()
        with engine.begin() as connection:
            row = _locked(connection)
            if not row.process or owner.is_gone(row.process):
                return _taken(connection, row.epoch + 1, owner, ttl_ms)
            if watched is None:
                watched, since_ms = row, seen_ms
            elif (row.epoch, row.beats) != (watched.epoch, watched.beats):
                raise HeldError(row.holder)
            elif seen_ms - since_ms >= watched.ttl_ms:
                return _taken(connection, row.epoch + 1, owner, ttl_ms)
        stop.wait(LOOK_MS / 1_000)
    return None


def beat(connection: Connection, epoch: int) -> None:
    """Renew the lease and lock its row until the transaction ends, so that nobody takes over before.

    Raises ``FencedError``: the lease is not ours any more.
    """
    ours = (leases.c.name == STREAMING, leases.c.epoch == epoch)
    if connection.execute(update(leases).where(*ours).values(beats=leases.c.beats + 1)).rowcount != 1:
        holder = connection.scalar(select(leases.c.holder).where(leases.c.name == STREAMING)) or ""
        raise RebuiltError if holder == REBUILT else FencedError(holder)


def displace(connection: Connection, by: str = "") -> bool:
    """Fence the present owner with this transaction, and free the lease; false where ``by`` did so last."""
    epoch = _locked(connection).epoch + 1
    if by and connection.scalar(select(leases.c.holder).where(leases.c.name == DISPLACED)) == by:
        return False
    ended = {"epoch": epoch, "process": "", "holder": REBUILT}
    connection.execute(update(leases).where(leases.c.name == STREAMING).values(ended))
    upsert(connection, leases, [{**FREE, "name": DISPLACED, "holder": by}])
    return True


def release(connection: Connection, epoch: int) -> None:
    """Free the lease, so that another stream may take it at once."""
    ours = (leases.c.name == STREAMING, leases.c.epoch == epoch)
    connection.execute(update(leases).where(*ours).values(process="", holder=""))


def _locked(connection: Connection) -> Row[Any]:
    """The lease; nobody else changes it until the transaction ends."""
    connection.execute(insert(connection, leases).values(name=STREAMING, **FREE).on_conflict_do_nothing())
    return connection.execute(select(leases).where(leases.c.name == STREAMING).with_for_update()).one()


def _taken(connection: Connection, epoch: int, owner: Owner, ttl_ms: int) -> int:
    values = {"epoch": epoch, "beats": 0, "ttl_ms": ttl_ms, "holder": owner.holder, "process": owner.token}
    connection.execute(update(leases).where(leases.c.name == STREAMING).values(values))
    return epoch
