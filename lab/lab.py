"""The lab as a whole: a context that is up within seconds and leaves nothing behind.

Every act provokes one kind of failure, returns when it has happened and adds it to ``truth``. Acts can be
repeated and mixed; call them from one thread at a time.
"""

import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import jars
from lab import drops, share, spring
from lab.broker import Broker, Ports
from lab.connect import FILESINK_DLQ, FILESINK_TOPIC, Connect
from lab.jvm import Application, Jvm
from lab.processes import LabError, PortTakenError, Processes, read
from lab.streams import INPUT, OUTPUT, Streams, feeding
from lab.topics import Topics
from lab.truth import Truth, abandonments, expired_batches, task_timeouts

_STARTS: Final = 3


@dataclass(frozen=True, slots=True)
class Logs:
    """The log file of each process."""

    broker: Path
    connect: Path
    streams: Path


class Lab:
    """A broker, a Connect worker, a Streams application and a share group, on loopback ports of their own.

    A Spring application, and one of Streams that drops records, join them with the first act that needs them.

    Its files are temporary and end with it.
    ``stalls`` tells from when until when the broker was stopped, in milliseconds since the epoch.
    """

    def __init__(self) -> None:
        self._abandoned: Counter[str] = Counter()
        self._abandoned_total = 0
        self._dead_letters: Counter[str] = Counter()
        self._share_accepted = self._connect_returned = self._spring_processed = self._dropped = 0
        self.stalls: list[tuple[int, int]] = []

    def __enter__(self) -> Self:
        """Start everything; when that fails, nothing is left. Ports that are taken meanwhile are replaced."""
        for starts_left in reversed(range(_STARTS)):
            try:
                self._start()
                break
            except PortTakenError:
                if not starts_left:
                    raise
        return self

    def _start(self) -> None:
        directory = Path(tempfile.mkdtemp(prefix="deadwatch-lab-"))
        self._processes = Processes(remove=directory)
        try:
            self._prepare(directory)
            self._launch()
        except BaseException:
            self._processes.close()
            raise

    def _prepare(self, directory: Path) -> None:
        """Choose ports and make directories; nothing runs yet."""
        java, ports = jars.find_java().path, Ports.choose()
        logs = directory / "logs"
        logs.mkdir()
        self.logs = Logs(*(logs / f"{name}.log" for name in ("broker", "connect", "streams")))
        self._broker = Broker(java, directory / "broker", self.logs.broker, ports)
        self.bootstrap_servers, self.sasl_ssl = self._broker.bootstrap_servers, self._broker.sasl_ssl
        self.broker_jolokia_url = self._broker.jolokia_url
        self.connect = Connect(java, directory / "connect", self.logs.connect, ports)
        self.connect_url, self.connect_jolokia_url = self.connect.url, self.connect.jolokia_url
        self._streams = Streams(java, directory / "streams", self.logs.streams, self.bootstrap_servers)
        jvm = Jvm(java, "spring", 128, logs / "spring.log")
        self._spring = Application("SpringListeners", jvm, directory / "spring")
        self._fixed = self._spring.directory / "fixed"
        self.drops_log = logs / "drops.log"
        jvm = Jvm(java, "apps", 128, self.drops_log, drops.LAYOUT)
        self._drops = Application("StreamsDrops", jvm, directory / "drops")
        self._topics = Topics(self.bootstrap_servers)

    def _launch(self) -> None:
        """Start everything, in parallel as far as possible, and return when everything can be used."""
        self.connect.launch(self._processes)  # takes longest and waits for the broker by itself
        self._broker.launch(self._processes)
        self._broker.wait()
        self._topics.create(INPUT, OUTPUT, share.TOPIC, FILESINK_TOPIC)
        self._streams.launch(self._processes)
        share.configure(self.bootstrap_servers)
        self.connect.wait()
        self._streams.wait(self._processes)

    def __exit__(self, *exception: object) -> None:
        """End every process and remove the files."""
        self._processes.close()

    def describe(self) -> str:
        """A line for each address and each log file."""
        rows = {
            "Kafka": self.bootstrap_servers,
            "Kafka, SASL_SSL": self.sasl_ssl.bootstrap_servers,
            "Connect": self.connect_url,
            "Jolokia, broker": self.broker_jolokia_url,
            "Jolokia, Connect": self.connect_jolokia_url,
            "log of the broker": self.logs.broker,
            "log of Connect": self.logs.connect,
            "log of Streams": self.logs.streams,
        }
        return "\n".join(f"{name:<19}{value}" for name, value in rows.items())

    @property
    def truth(self) -> Truth:
        """What has been provoked so far; timeouts are counted in the log of Streams."""
        streams = read(self.logs.streams)
        expired = [records for _, records in expired_batches(streams)]
        return Truth(
            abandoned_tasks_current=self._abandoned.total(),
            abandoned_tasks_total=self._abandoned_total,
            share_dead_letters=self._dead_letters[share.DLQ],
            connect_dead_letters=self._dead_letters[FILESINK_DLQ],
            task_timeouts=len(task_timeouts(streams)),
            expired_batches=len(expired),
            expired_records=sum(expired),
            share_accepted=self._share_accepted,
            connect_returned=self._connect_returned,
            spring_dead_letters=sum(self._dead_letters[dlq] for dlq in spring.DLQ_OF.values()),
            spring_processed=self._spring_processed,
            stream_records_dropped=self._dropped,
        )

    def abandon_task(self, connector: str = "pipe") -> None:
        """One more task that Connect gives up on; its thread stays."""
        self.connect.abandon_task(connector)
        self._count_abandoned(connector)

    def release_task(self, connector: str = "pipe") -> None:
        """Let every abandoned thread of the connector end; its tasks are abandoned no longer."""
        if not self._abandoned[connector]:
            raise LabError(f"no task of {connector!r} is abandoned: call abandon_task({connector!r}) first")
        self.connect.release_tasks(connector)
        del self._abandoned[connector]

    def delete_connector(self, connector: str = "pipe") -> None:
        """Remove the connector of ``abandon_task``: its live task is abandoned too, all its threads stay."""
        self.connect.delete(connector)
        self._count_abandoned(connector)

    def _count_abandoned(self, connector: str) -> None:
        self._abandoned[connector] += 1
        self._abandoned_total += 1

    def restart_connect(self) -> None:
        """Stop the Connect worker and start it again: what it had abandoned ends with it.

        Tasks that wait for a pipe do not stop: the worker gives each up before it ends.
        """
        before = len(abandonments(read(self.logs.connect)))
        self.connect.restart(self._processes)
        self._abandoned.clear()
        self._abandoned_total += len(abandonments(read(self.logs.connect))) - before

    @contextmanager
    def another_connect(self) -> Iterator[Connect]:
        """A context with a second Connect cluster, of one worker, on the same broker; not in ``truth``."""
        connect = self.connect.another("connect-2")
        connect.launch(self._processes)
        try:
            connect.wait()
            yield connect
        finally:
            connect.end(self._processes)

    def stall_broker(self, seconds: float = 16) -> None:
        """Stop the broker while records flow through Streams: tasks time out, batches expire.

        A stall that ends with the first of these is too short: Streams may hang as it shuts down. One that
        has met no open batch is done again, twice at most.
        """
        before = self.truth.expired_batches
        for _ in range(3):
            self._stall_broker(seconds)
            if self.truth.expired_batches > before:
                return

    def _stall_broker(self, seconds: float) -> None:
        self._streams.wait(self._processes)
        with feeding(self.bootstrap_servers):
            self._topics.wait_beyond(OUTPUT, self._topics.end(OUTPUT))
            with self.broker_stopped():
                time.sleep(seconds)
            self._streams.restart_when_dead(self._processes)

    @contextmanager
    def broker_stopped(self) -> Iterator[None]:
        """A context in which the broker is stopped: it answers nobody, its connections stay open."""
        from_ms = time.time_ns() // 1_000_000
        try:
            with self._broker.stopped():
                yield
        finally:
            self.stalls.append((from_ms, time.time_ns() // 1_000_000))

    def reject_share_records(self, count: int) -> None:
        """A share group rejects ``count`` records and what waited before; each becomes a dead letter."""
        before = self._topics.end(share.DLQ)
        self._topics.produce(share.TOPIC, (b'{"order":%d}' % number for number in range(count)))
        rejected = share.reject(self.bootstrap_servers, count)
        self._topics.wait_beyond(share.DLQ, before + rejected - 1)
        self._dead_letters[share.DLQ] += rejected

    def break_connect_records(self, count: int) -> None:
        """A sink meets ``count`` records that are not JSON, and as many that are."""
        self.connect.deploy_file_sink("filesink")
        pairs = ((b'{"order":%d}' % number, b'{"order":%d' % number) for number in range(count))
        with self._dead_letters_arrive(FILESINK_DLQ, count):
            self._topics.produce(FILESINK_TOPIC, (value for pair in pairs for value in pair))

    def accept_share_records(self, count: int) -> None:
        """The share group is fixed: it accepts ``count`` records that somebody puts back."""
        self._share_accepted += share.accept(self.bootstrap_servers, count)

    def fail_spring_listeners(self, count: int) -> None:
        """Each of three Spring listeners fails the records ``order-0``, ``order-1``, … of its topic."""
        if not self._spring.launched:
            self._topics.create(*spring.TOPICS)
            self._spring.launch(self._processes, self.bootstrap_servers, self._fixed)
        self._fixed.unlink(missing_ok=True)
        for topic, dlq in spring.DLQ_OF.items():
            with self._dead_letters_arrive(dlq, count):
                self._topics.produce(topic, (b"order-%d" % number for number in range(count)))

    def drop_stream_records(self, count: int) -> None:
        """A Streams application drops ``count`` records for each reason in ``drops.REASON_OF``."""
        if not self._drops.launched:
            names = (drops.INPUT, drops.COUNTS, drops.REST)
            self._topics.create(*names, partitions=1)
            state = self._drops.directory / "state"
            self._drops.launch(self._processes, self.bootstrap_servers, state, *names)
        drops.drop(self.bootstrap_servers, count, self._topics)
        self._dropped += count * len(drops.REASON_OF)

    def spring_records_return(self, count: int) -> AbstractContextManager[None]:
        """A context in which ``count`` dead letters are put back to the unfixed listener with retries."""
        return self._dead_letters_arrive(spring.DLQ_OF[spring.RETRIED], count)

    @contextmanager
    def spring_fixed(self, count: int) -> Iterator[None]:
        """A context in which Spring's listeners are fixed, and ``count`` dead letters put back to them."""
        with self._topics.growing(spring.PROCESSED, count):
            self._fixed.touch()
            yield
        self._spring_processed += count

    @contextmanager
    def connect_records_return(self, count: int) -> Iterator[None]:
        """A context in which ``count`` dead letters are put back to the unfixed sink: they fail again."""
        with self._dead_letters_arrive(FILESINK_DLQ, count):
            yield
        self._connect_returned += count

    @contextmanager
    def _dead_letters_arrive(self, dlq: str, count: int) -> Iterator[None]:
        """A context that causes ``count`` dead letters; it ends when they are on their topic."""
        with self._topics.growing(dlq, count):
            yield
        self._dead_letters[dlq] += count
