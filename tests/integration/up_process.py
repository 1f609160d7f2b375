"""``deadwatch up`` for tests: the process, what it tells, and lines of logs that it is given."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import psutil

from tests import families, metrics
from tests.store_guard.processes import guarded
from tests.waiting import until

EXPIRED = (
    "[2026-11-21 10:00:0{second},000] ERROR stream-thread [words-StreamThread-1] Error encountered sending "
    "record to topic words for task 0_0 due to:\n"
    "org.apache.kafka.common.errors.TimeoutException: Expiring 3 record(s) for words-0:3001 ms has passed "
    "since batch creation. The request has not been sent, or no server response has been received yet.\n"
)
STREAMS = "words-7f99e2d8-5383-481a-8dd1-773528d54f71"


def stalled(at: datetime) -> str:
    """Three tasks that did not get their commit through; the state of one of them is lost by it."""
    thread = f"[{at:%Y-%m-%d %H:%M:%S},000] ERROR stream-thread [{STREAMS}-StreamThread-1]"
    return (
        f"{thread} Committing task(s) 0_0, 0_1, 0_2 failed. (o.T:214)\n"
        f"{thread} Detected the states of tasks [0_2] are corrupted. Will close the task as dirty and"
        " re-create and bootstrap from scratch. (o.S:1)\n"
    )


def died(at: datetime) -> str:
    """The decision of the exception handler."""
    return (
        f"[{at:%Y-%m-%d %H:%M:%S},000] ERROR stream-client [{STREAMS}] Encountered the following exception"
        " during processing and the registered exception handler opted to SHUTDOWN_CLIENT. The streams client"
        " is going to shut down now. (o.K:1)\n"
    )


@dataclass(frozen=True)
class Up:
    """A running service."""

    process: "subprocess.Popen[bytes]"
    url: str
    errors: Path

    def figure(self, name: str, **labels: str) -> int:
        return metrics.figure(self.url, name, **labels)

    def dead_letters(self, topic: str) -> int:
        return self.figure("deadwatch_dead_letter_queue_records_total", dlq_topic=topic)

    @property
    def token_file(self) -> Path:
        return self.errors.with_name("data") / "token"

    @property
    def authorization(self) -> dict[str, str]:
        """The header that shows its token."""
        return {"Authorization": f"Bearer {self.token_file.read_text().strip()}"}

    def child(self, name: str) -> psutil.Process:
        children = psutil.Process(self.process.pid).children()
        return next(child for child in children if name in child.cmdline())


@contextmanager
def running(config: Path, directory: Path) -> Iterator[Up]:
    """Start the service and wait for its address; end it whatever happens."""
    output, errors = directory / "up.out", directory / "up.err"
    command = [sys.executable, "-m", "cli", "up", "--config", str(config)]
    with guarded(directory) as environment:
        with output.open("wb") as out, errors.open("wb") as err:
            process = subprocess.Popen(
                [*command, "--data", str(directory / "data"), "--port", "0"],
                stdout=out,
                stderr=err,
                env=environment,
            )
        try:
            until(lambda: process.poll() is not None or "is up" in output.read_text(), "it did not come up")
            found = re.search(r"Deadwatch is up: (\S+)/docs", output.read_text())
            assert found, errors.read_text()
            yield Up(process, found.group(1), errors)
        finally:
            families.kill(process)


@contextmanager
def left_by_nobody(up: Up) -> Iterator[None]:
    """Inside, the service ends; nothing that it has started runs on."""
    descendants = psutil.Process(up.process.pid).children(recursive=True)
    yield
    until(lambda: not any(families.lives(one.pid) for one in descendants), "a process was left behind")
