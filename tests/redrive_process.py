"""``python -m redrive`` as a process of its own, on a store with orders."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deadwatch.orders.order import Order
from deadwatch.store import upgrades
from deadwatch.store.engine import connect
from deadwatch.store.write.orders import OrderBook
from tests import families


@contextmanager
def ordered(directory: Path, *orders: Order) -> Iterator[tuple[str, OrderBook]]:
    """The address of a store that holds the orders, and its book."""
    url = f"sqlite:///{directory / 'store.db'}"
    engine = connect(url)
    upgrades.upgrade(engine)
    book = OrderBook(engine)
    for order in orders:
        book.create(order, "{}")
    try:
        yield url, book
    finally:
        engine.dispose()


@contextmanager
def working(
    url: str, servers: str, *, log: Path | None = None, **settings: str
) -> Iterator["subprocess.Popen[bytes]"]:
    """A worker; at the end it is killed with all that it has started."""
    temporary = tempfile.mkdtemp(prefix="deadwatch-worker-")
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("REDRIVE_")},
        "TMPDIR": temporary,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "REDRIVE_STORE_URL": url,
        "REDRIVE_KAFKA__BOOTSTRAP_SERVERS": servers,
        **{f"REDRIVE_{name}".upper(): value for name, value in settings.items()},
    }
    command = [sys.executable, "-m", "redrive"]
    with (log or Path(os.devnull)).open("ab") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output if log else None)
    try:
        yield process
    finally:
        families.kill(process)
        shutil.rmtree(temporary)
