"""``deadwatch demo``: a real Kafka that fails, the whole service beside it, the numbers as they arrive.

It waits for the service, provokes everything, compares and concludes; every phase has its deadline. Figures
count as exact only when all of them are and stay so for ``SETTLE_S``.

Each act waits until what the ones before it did has arrived, so that no failure delays what is measured of
another; what does not arrive in time is not waited for any longer, the table shows it. The redrives go
through the api as anybody's do. The consumer of the share group is fixed: what it rejected is put back, and
accepted. The sink is not fixed: what is put back there dies again, and as each record has had its one
attempt, the next redrive parks it.
"""

import os
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Final

from rich.console import Console

from cli.api_client import DONE, UNDONE, Api, Credential, RefusedError, UsageError, connect, http_client
from cli.commands.following import PATH, follow
from cli.commands.ready import TIMEOUT_S, look
from cli.commands.redrives import plan
from cli.commands.up import require_free, temporary_files
from cli.demo.figures import Row, Screen, Watch, plain, record_times, save_picture, summary
from cli.options import Options
from cli.service import Service, configure, forget_variables
from cli.supervisor import Supervisor, running
from deadwatch.contract.topics import PARKED_SUFFIX
from deadwatch.orders.options import next_step
from deadwatch.runtime import process
from deadwatch.runtime.one_line import INTERRUPTED
from jars import JarsError, JavaError
from lab import Lab, LabError, share
from lab.connect import FILESINK_DLQ
from lab.processes import until

READY_WITHIN_S: Final = 120
ALL_WITHIN_S: Final = 360
ARRIVES_WITHIN_S: Final = 30
SETTLE_S: Final = 5
LOOK_EVERY_S: Final = 0.25
TAIL_LINES: Final = 12
NONE: Final = "some, but none was provoked"
RECORDS: Final = 10
STALL_S: Final = 16
ONCE: Final[Mapping[str, object]] = {
    "retry": {"max_attempts": 1},
    "guards": {"max_bounce_ratio": None},  # it would stop a redrive whose records come back
}


def run(*, once: bool, port: int, picture: Path | None = None) -> int:
    """Run the demo; 0 when every figure was exact.

    Raises:
        UsageError: the picture cannot be saved there.
        RefusedError: it cannot go on.
    """
    if picture is not None and (picture.is_dir() or not os.access(picture.parent, os.W_OK | os.X_OK)):
        raise UsageError(f"cannot write {picture}: give --svg a file in a directory that is there")
    forget_variables()
    try:
        with process.interruptible(), TemporaryDirectory(prefix="deadwatch-demo-") as directory:
            print("starting Kafka, Connect and Streams", flush=True)
            with Lab() as lab:
                return _serve(lab, Path(directory), once=once, port=port, picture=picture)
    except (LabError, JarsError, JavaError) as error:
        raise RefusedError(str(error)) from error
    except process.Interrupted:
        return INTERRUPTED if once else DONE


def _serve(lab: Lab, data: Path, *, once: bool, port: int, picture: Path | None) -> int:
    """Run the service beside the lab, and in it the demo."""
    service = configure(
        Options(
            bootstrap_servers=lab.bootstrap_servers,
            connect_url=[lab.connect_url],
            jolokia_url=lab.connect_jolokia_url,
            broker_jolokia_url=[lab.broker_jolokia_url],
            log=[str(log) for log in (lab.logs.broker, lab.logs.connect, lab.logs.streams)],
            data=data,
            port=port,
        )
    )
    require_free(service.api.host, service.api.port)
    logs = data / "logs"
    logs.mkdir()
    service.admit_local_user()
    print(f"starting the service: {service.url}/docs  metrics: {service.url}/metrics", flush=True)
    screen = Screen()
    supervisor = Supervisor(service.programs(logs))
    with temporary_files(data), running(supervisor) as alive, screen.live or nullcontext():
        demo = _Demo(lab, service, screen, alive)
        try:
            demo.wait_until_ready()
            exact = demo.provoke()
        except RefusedError as error:
            raise RefusedError(f"{error}\n{tails(logs, lab.logs.connect.parent)}") from None
        missing = demo.conclude(picture)
        if not exact:
            sys.stderr.write(f"{missing}{tails(logs, lab.logs.connect.parent)}\n")
        if not once:
            demo.linger()
    return DONE if exact else UNDONE


class _Demo:
    """The demo, once everything has been started; ``alive`` is whether the service runs."""

    def __init__(self, lab: Lab, service: Service, screen: Screen, alive: Callable[[], bool]) -> None:
        self._lab, self._service, self._screen, self._alive = lab, service, screen, alive
        self._api = connect(service.url, Credential(service.local_token))
        self._watch = Watch(service.url)
        self._redriven = Counter(orders=0, parked=0)
        self._acts_left, self._failure = True, ""

    def wait_until_ready(self) -> None:
        """Return when the api answers, every source was seen in its figures, and a redrive can run."""
        self._screen.say("waiting for the service")
        self._watch.start()
        sources = [*(f"log:{log.path}" for log in self._service.collector.logs), "connect", "redrive"]
        deadline_s = time.monotonic() + READY_WITHIN_S
        with http_client(self._service.url, TIMEOUT_S) as client:
            while missing := look(client, sources):
                if time.monotonic() > deadline_s:
                    raise RefusedError(f"the service was not ready within {READY_WITHIN_S} s: {missing[0]}")
                self._pause()

    def provoke(self) -> bool:
        """Let everything fail and put it back; whether every figure then was exact and stayed so."""
        # a daemon: no act can be interrupted, its lab can end
        acts = Thread(target=self._play, name="acts", daemon=True)
        acts.start()
        began_s = exact_since_s = time.monotonic()
        while time.monotonic() < began_s + ALL_WITHIN_S:
            rows = self._rows()
            self._screen.show(rows)
            if self._failure or (self._acts_left and not acts.is_alive()):
                raise RefusedError(f"an act could not be played: {self._failure or 'see above'}")
            if self._acts_left or not all(row.holds for row in rows):
                exact_since_s = time.monotonic()
            elif time.monotonic() - exact_since_s >= SETTLE_S:
                return True
            self._pause()
        return False

    def _play(self) -> None:
        """Play one act after the other; the first that fails ends it."""
        try:
            for title in self._acts():
                with suppress(LabError):
                    until(self._has_arrived, title, ARRIVES_WITHIN_S)
                self._screen.say(title)
            self._acts_left = False
        except (LabError, RefusedError) as error:
            self._failure = str(error)

    def _acts(self) -> Iterator[str]:
        """Each act by its title; it happens when the next title is asked for."""
        lab = self._lab
        yield "a Connect task blocks and is abandoned"
        lab.abandon_task()
        yield f"a share group rejects {RECORDS} records"
        lab.reject_share_records(RECORDS)
        yield f"a Connect sink meets {RECORDS} broken records"
        lab.break_connect_records(RECORDS)
        yield f"the broker stops for {STALL_S} s under Kafka Streams"
        lab.stall_broker(STALL_S)
        yield "the blocked task is released"
        lab.release_task()
        yield "the share group is fixed: its dead letters are put back"
        self._redrive(share.DLQ, {"all": True}, "the consumer is fixed")
        lab.accept_share_records(RECORDS)
        yield "the sink is not fixed: what is put back dies again"
        with lab.connect_records_return(RECORDS):
            self._redrive(FILESINK_DLQ, {"all": True}, "to see what happens", **ONCE)
        yield "each has had its one attempt: what came back is parked"
        self._redrive(FILESINK_DLQ, {"filter": "attempts > 0"}, "enough of them", **ONCE)
        self._redriven["parked"] = len(record_times(lab.bootstrap_servers, FILESINK_DLQ + PARKED_SUFFIX))

    def _redrive(self, dlq_topic: str, selection: Mapping[str, object], reason: str, **more: object) -> None:
        request = {"dlq_topic": dlq_topic, "selection": selection, "reason": reason, **more}
        redrive(self._api, self._screen.console, request)
        self._redriven["orders"] += 1

    def conclude(self, picture: Path | None) -> str:
        """Print the table and the latencies; a line for every row that does not hold."""
        rows = self._rows(self._lab)
        line = summary([delay for row in rows for delay in row.delays])
        print(f"\n{plain(rows)}\n\n{line}", flush=True)
        if picture is not None:
            save_picture(picture, rows, line)
        wrong = (row for row in rows if not row.holds)
        return "".join(
            f"missing: {row.what}: expected {row.expected or NONE}, seen {row.seen}\n" for row in wrong
        )

    def linger(self) -> None:
        """Keep everything running and shown until Ctrl-C."""
        self._screen.say(f"{self._service.url}/docs  {self._service.url}/metrics  Ctrl-C ends the demo")
        while True:
            self._screen.show(self._rows())
            self._pause()

    def _rows(self, ended: Lab | None = None) -> list[Row]:
        return self._watch.rows(asdict(self._lab.truth) | self._redriven, ended)

    def _has_arrived(self) -> bool:
        """Whether everything that was provoked so far is exact."""
        return all(row.holds for row in self._rows() if row.expected is not None)

    def _pause(self) -> None:
        """Wait a moment; raises ``RefusedError`` when the service has ended."""
        if not self._alive():
            raise RefusedError("the service has ended")
        time.sleep(LOOK_EVERY_S)


def redrive(api: Api, console: Console, request: Mapping[str, object]) -> None:
    """A dry run, then the order; returns when it is completed. Raises ``RefusedError`` when it is not."""
    dry_run = api.post(PATH, {**request, "dry_run": True})
    console.print(plan(dry_run))
    made = api.post(PATH, {**request, **next_step(dry_run)}, str(uuid.uuid4()))
    order = follow(api, made["id"], Console(quiet=True))
    if order["status"] != "COMPLETED":
        raise RefusedError(f"redrive {order['id']} is {order['status']}: {order['status_reason']}")


def tails(*directories: Path) -> str:
    """The last lines of every process that show trouble, else its last lines."""
    parts = []
    for log in (log for directory in directories for log in sorted(directory.glob("*.log"))):
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        trouble = [line for line in lines if " ERROR " in line or " WARNING " in line or "Error: " in line]
        parts += [f"--- {log.stem}", *(trouble or lines)[-TAIL_LINES:]]
    return "\n".join(parts)
