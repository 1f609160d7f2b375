"""The course of the demo: wait for the service, provoke everything, compare, conclude.

Every phase has its deadline. Figures count as exact only when all of them are and stay so for ``SETTLE_S``.
"""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deadwatch import demo_picture
from deadwatch.api_client import connect
from deadwatch.demo_acts import FAILURES, RECORDS, Acts
from deadwatch.demo_last_act import LastAct
from deadwatch.demo_latency import Latencies
from deadwatch.demo_rows import rows
from deadwatch.demo_screen import Screen
from deadwatch.demo_table import Row, all_hold, arrived, missing, plain, summary
from deadwatch.demo_truth import happened
from deadwatch.demo_watch import Signal, Watch
from deadwatch.service import Service
from deadwatch.up import ready
from lab import Lab

READY_WITHIN_S = 120
ALL_WITHIN_S = 360
SETTLE_S = 5
LOOK_EVERY_S = 0.25
TAIL_LINES = 12


class DemoError(Exception):
    """The demo cannot go on; the text says why."""


@dataclass(slots=True)
class Show:
    """The demo, once everything has been started."""

    lab: Lab
    service: Service
    watch: Watch
    screen: Screen
    alive: Callable[[], bool]
    _last_act: LastAct = field(init=False)
    _deadline_s: float = field(default_factory=lambda: time.monotonic() + ALL_WITHIN_S)

    def __post_init__(self) -> None:
        self._last_act = LastAct(
            connect(self.service.url, self.service.local_token), self.screen.present, RECORDS
        )

    def wait_until_ready(self) -> None:
        """Until the api answers, every source was heard through the whole pipeline, and a redrive can run."""
        self.screen.say("waiting for the service")
        awaited = {
            Signal.LOGS_UP: len(self.service.collector.logs),
            Signal.CONNECT_UP: len(self.service.collector.connect),
            Signal.WORKERS_UP: 1,
        }
        deadline_s = time.monotonic() + READY_WITHIN_S
        while not (
            ready(self.service.url)
            and all(self.watch.value(signal) >= count for signal, count in awaited.items())
        ):
            if time.monotonic() > deadline_s:
                raise DemoError(f"the service was not ready within {READY_WITHIN_S} s")
            self._pause()

    def provoke(self) -> bool:
        """Let everything fail and put it back; whether every figure then was exact and stayed so."""
        all_acts = (*FAILURES, *self._last_act.acts)
        acts = Acts(self.lab, all_acts, self.screen.say, lambda: arrived(self._rows()))
        acts.start()
        held_since_s: float | None = None
        while held_since_s is None or time.monotonic() - held_since_s < SETTLE_S:
            now = self._rows()
            self.screen.show(now)
            if acts.failure or not (acts.finished or acts.is_alive()):
                raise DemoError(f"an act could not be played: {acts.failure or 'see above'}")
            if not (acts.finished and all_hold(now)):
                held_since_s = None
            elif held_since_s is None:
                held_since_s = time.monotonic()
            if time.monotonic() > self._deadline_s:
                return False
            self._pause()
        return True

    def conclude(self, logs: Path, *, held: bool, picture: Path | None) -> int:
        """Print the table, the latencies and what is missing; the exit code."""
        final = self._rows(happened(self.lab))
        line = summary(sum((row.latencies for row in final), Latencies()))
        print(f"\n{plain(final)}\n\n{line}", flush=True)
        if picture is not None:
            demo_picture.save(picture, final, line)
        if held:
            return 0
        sys.stderr.write("".join(f"missing: {line}\n" for line in missing(final)) + tails(logs) + "\n")
        return 1

    def linger(self) -> None:
        """Keep everything running and shown until Ctrl-C."""
        self.screen.say(f"{self.service.url}/docs  {self.service.url}/metrics  Ctrl-C ends the demo")
        while True:
            self.screen.show(self._rows())
            self._pause()

    def _rows(self, times: Mapping[Signal, Sequence[int]] | None = None) -> list[Row]:
        return rows(self.lab.truth, self._last_act.done, self.watch, times)

    def _pause(self) -> None:
        """Wait a moment; complain when the service has ended."""
        if not self.alive():
            raise DemoError("the service has ended")
        time.sleep(LOOK_EVERY_S)


def tails(logs: Path) -> str:
    """The last lines of every process that tell of trouble, else its last lines."""
    parts = []
    for log in sorted(logs.glob("*.log")):
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        trouble = [line for line in lines if " ERROR " in line or " WARNING " in line or "Error: " in line]
        parts += [f"--- {log.stem}", *(trouble or lines)[-TAIL_LINES:]]
    return "\n".join(parts)
