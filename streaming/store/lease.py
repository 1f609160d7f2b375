"""One stream writes a store at a time: a lease with an epoch, checked in the transaction of every batch.

A second stream watches the lease for as long as its owner promised to beat: a beat means that it is alive,
and the second is refused; silence means that it is gone, and the second takes over. Only its own clock is
asked. An owner that ended on the same machine, SIGKILL included, is known to be gone at once. Whoever comes
to itself after it was taken over (a long pause, a cut network) finds a higher epoch and writes nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Event
from typing import Final

from sqlalchemy import Connection, Engine, select, update

from streaming.store.engine import insert
from streaming.store.errors import FencedError, HeldError, RebuiltError
from streaming.store.owner import Owner
from streaming.store.schema import leases

STREAMING: Final = "streaming"
REBUILT: Final = "a backfill"
"""The holder of a store that nobody writes since it was rebuilt."""
LOOK_MS: Final = 200
"""How often a stream that waits looks at the lease."""


@dataclass(frozen=True, slots=True)
class Lease:
    """What its owner shows with every write."""

    epoch: int


@dataclass(frozen=True, slots=True)
class Watch:
    """A lease of somebody else, as it was when we first looked."""

    holder: str
    epoch: int
    beats: int
    ttl_ms: int
    since_ms: int


def acquire(
    engine: Engine, owner: Owner, *, ttl_ms: int, stop: Event, now_ms: Callable[[], int]
) -> Lease | None:
    """The lease, when it is free or its owner is gone; None when ``stop`` was set first.

    Raises:
        HeldError: its owner is alive.
    """
    watch: Watch | None = None
    while not stop.is_set():
        seen_ms = now_ms()
        with engine.begin() as connection:
            found = claim(connection, owner, ttl_ms, watch, seen_ms)
        if isinstance(found, Lease):
            return found
        watch = found
        stop.wait(LOOK_MS / 1_000)
    return None


def claim(
    connection: Connection, owner: Owner, ttl_ms: int, before: Watch | None, now_ms: int
) -> Lease | Watch:
    """Take the lease, or watch it; call again with what it returned.

    Raises:
        HeldError: its owner is alive.
    """
    _exists(connection)
    row = connection.execute(select(leases).where(leases.c.name == STREAMING).with_for_update()).one()
    if not row.process or owner.is_gone(row.process):
        return _taken(connection, row.epoch + 1, owner, ttl_ms)
    if before is None:
        return Watch(row.holder, row.epoch, row.beats, row.ttl_ms, now_ms)
    if (row.epoch, row.beats) != (before.epoch, before.beats):
        raise HeldError(row.holder)
    if now_ms - before.since_ms < before.ttl_ms:
        return before
    return _taken(connection, row.epoch + 1, owner, ttl_ms)


def beat(connection: Connection, lease: Lease) -> None:
    """Say that we live and hold the row until the transaction ends, so that nobody takes over before.

    Raises:
        FencedError: the lease is not ours any more.
    """
    ours = (leases.c.name == STREAMING, leases.c.epoch == lease.epoch)
    if connection.execute(update(leases).where(*ours).values(beats=leases.c.beats + 1)).rowcount != 1:
        holder = connection.scalar(select(leases.c.holder).where(leases.c.name == STREAMING)) or ""
        raise RebuiltError if holder == REBUILT else FencedError(holder)


def displace(connection: Connection) -> None:
    """End whoever writes with this transaction, and let the next one in."""
    _exists(connection)
    ended = {"epoch": leases.c.epoch + 1, "process": "", "holder": REBUILT}
    connection.execute(update(leases).where(leases.c.name == STREAMING).values(ended))


def release(connection: Connection, lease: Lease) -> None:
    """Let the next one in at once."""
    ours = (leases.c.name == STREAMING, leases.c.epoch == lease.epoch)
    connection.execute(update(leases).where(*ours).values(process="", holder=""))


def _exists(connection: Connection) -> None:
    free = {"epoch": 0, "beats": 0, "ttl_ms": 0, "holder": "", "process": ""}
    connection.execute(insert(connection, leases).values(name=STREAMING, **free).on_conflict_do_nothing())


def _taken(connection: Connection, epoch: int, owner: Owner, ttl_ms: int) -> Lease:
    values = {
        "epoch": epoch,
        "beats": 0,
        "ttl_ms": ttl_ms,
        "holder": owner.holder,
        "process": owner.token,
    }
    connection.execute(update(leases).where(leases.c.name == STREAMING).values(values))
    return Lease(epoch)
