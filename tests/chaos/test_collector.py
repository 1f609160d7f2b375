"""A collector killed at random moments while its log is written and rotated and its broker crashes."""

import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from lab.broker import LoneBroker
from tests.chaos.account import Account
from tests.collector_process import Collector
from tests.waiting import eventually, until

pytestmark = [
    pytest.mark.chaos,
    # kafka-python lets go of a socket whose broker has died without closing it
    pytest.mark.filterwarnings(
        "ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning"
    ),
]

LINES_A_SECOND = 200
ROTATED_EVERY_S = 1.5
KILLS_TO_A_BROKER_CRASH = 10
WITHIN_S = 120


@dataclass
class Writer:
    """Writes an abandoned task at a time, its stack trace after it, and renames the log in between.

    An entry may be cut by a rotation at any byte: its rest follows in the file that was renamed.
    """

    path: Path
    rng: Random
    written: int = 0
    rotations: int = 0
    stop: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        log = self.path.open("a", buffering=1)
        rotate_at = time.monotonic() + ROTATED_EVERY_S
        while not self.stop.wait(1 / LINES_A_SECOND):
            entry = self._entry()
            if time.monotonic() < rotate_at:
                log.write(entry)
                continue
            cut = self.rng.randrange(len(entry))
            log.write(entry[:cut])
            log.flush()
            self.rotations += 1
            self.path.rename(self.path.with_name(f"{self.path.name}.{self.rotations}"))
            log.write(entry[cut:])
            log.close()
            log = self.path.open("a", buffering=1)
            rotate_at = time.monotonic() + ROTATED_EVERY_S
        log.close()

    def _entry(self) -> str:
        number, self.written = self.written, self.written + 1
        return (
            f"[2026-11-21 12:35:23,893] ERROR [c|task-{number}] Graceful stop of task c-{number} failed."
            " (o.Worker:1104)\n\tat o.Worker.stop(Worker.java:1104)\n"
            f"Caused by: o.Exception: Graceful stop of task c-{number} failed.\n"
        )


def collecting(directory: Path, broker: LoneBroker, log: Path) -> Collector:
    settings = {
        "logs": [{"path": str(log)}],
        "poll_interval_ms": 10,
        "request_timeout_ms": 5_000,
        "delivery_timeout_ms": 10_000,
    }
    return Collector(broker.bootstrap_servers, directory, "deadwatch.events", settings)


def crash(broker: LoneBroker, account: Account) -> None:
    broker.kill()
    broker.start_again()
    account.broker_kills += 1


def test_kills_of_collector_and_broker_lose_and_repeat_nothing(
    broker: LoneBroker, tmp_path: Path, kills: int, account: Account
) -> None:
    rng = Random(kills)
    writer = Writer(tmp_path / "connect.log", rng)
    own = collecting(tmp_path, broker, writer.path)
    thread = threading.Thread(target=writer.run)
    try:
        with own.running() as process:  # what was renamed before anybody saw the log is nobody's
            until(own.events)
            thread.start()
            until(own.abandoned)
            process.kill()
        for number in range(1, kills + 1):
            with own.running() as process:
                if number % KILLS_TO_A_BROKER_CRASH == KILLS_TO_A_BROKER_CRASH // 2:
                    crash(broker, account)  # under the collector's feet
                time.sleep(rng.uniform(0.3, 3))  # the random moment at which it dies
                process.kill()
            account.kills += 1
            if number % KILLS_TO_A_BROKER_CRASH == 0:
                crash(broker, account)  # while nobody collects
    finally:
        writer.stop.set()
        if thread.is_alive():
            thread.join()
    account.written, account.rotations = writer.written, writer.rotations
    with own.running():
        eventually(lambda: len(own.abandoned()) >= writer.written, WITHIN_S)
        tasks = own.abandoned()
    account.lost = writer.written - len(set(tasks))
    account.twice = sum(times - 1 for times in Counter(tasks).values())
    assert tasks == list(range(writer.written))
