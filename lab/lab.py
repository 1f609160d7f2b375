"""The lab as a whole: a context that is up within seconds and leaves nothing behind.

Every act provokes one failure, returns when it has happened and adds it to the truth. Acts can be repeated
and mixed; they are called from one thread at a time.
"""

import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from lab import share
from lab.connect import FILESINK_DLQ, FILESINK_TOPIC, Connect
from lab.errors import LabError
from lab.processes import read
from lab.sasl import SaslSsl
from lab.services import Logs, Services, start
from lab.streams import OUTPUT, Feeder
from lab.truth import Truth, count_expired, count_task_timeouts


class Lab:
    """A broker, a Connect worker, a Streams application and a share group, on loopback ports of their own.

    With ``directory`` the files are made there and stay; else they are temporary and end with the lab.
    """

    def __init__(self, directory: Path | None = None, *, sasl: bool = True) -> None:
        self._directory, self._with_sasl = directory, sasl
        self._services: Services | None = None
        self._abandoned: Counter[str] = Counter()
        self._abandoned_total = 0
        self._dead_letters: Counter[str] = Counter()
        self._share_accepted = self._connect_returned = 0

    def __enter__(self) -> Self:
        """Start everything; when that fails, nothing is left."""
        self._services = start(self._directory, with_sasl=self._with_sasl)
        return self

    def __exit__(self, *exception: object) -> None:
        """End every process and remove the files."""
        services, self._services = self._running, None
        services.processes.close()

    @property
    def bootstrap_servers(self) -> str:
        """The plain listener."""
        return self._running.broker.bootstrap_servers

    @property
    def sasl_ssl(self) -> SaslSsl:
        """The encrypted listener of the same broker."""
        sasl_ssl = self._running.broker.sasl_ssl
        if sasl_ssl is None:
            raise LabError("this lab was made with sasl=False")
        return sasl_ssl

    @property
    def connect_url(self) -> str:
        """Connect's REST server."""
        return self._running.connect.url

    @property
    def connect_jolokia_url(self) -> str:
        """The Jolokia agent of the Connect worker."""
        return self._running.connect.jolokia_url

    @property
    def broker_jolokia_url(self) -> str:
        """The Jolokia agent of the broker."""
        return self._running.broker.jolokia_url

    @property
    def logs(self) -> Logs:
        """Where each process logs."""
        return self._running.logs

    @property
    def truth(self) -> Truth:
        """What has been provoked so far; timeouts are counted in the log of Streams."""
        streams = read(self.logs.streams)
        expired = count_expired(streams)
        return Truth(
            abandoned_tasks_current=self._abandoned.total(),
            abandoned_tasks_total=self._abandoned_total,
            share_dead_letters=self._dead_letters[share.DLQ],
            connect_dead_letters=self._dead_letters[FILESINK_DLQ],
            task_timeouts=count_task_timeouts(streams),
            expired_batches=expired.batches,
            expired_records=expired.records,
            share_accepted=self._share_accepted,
            connect_returned=self._connect_returned,
        )

    def abandon_task(self, connector: str = "pipe") -> None:
        """One more task that Connect gives up on; its thread stays."""
        self._running.connect.abandon_task(connector)
        self._abandoned[connector] += 1
        self._abandoned_total += 1

    def release_task(self, connector: str = "pipe") -> None:
        """Let every abandoned thread of the connector end."""
        if not self._abandoned[connector]:
            raise LabError(f"no task of {connector!r} is abandoned: call abandon_task({connector!r}) first")
        self._running.connect.release_tasks(connector)
        del self._abandoned[connector]

    def delete_connector(self, connector: str = "pipe") -> None:
        """Remove the connector of ``abandon_task``: its live task is abandoned too, all its threads stay."""
        self._running.connect.delete(connector)
        self._abandoned[connector] += 1
        self._abandoned_total += 1

    def restart_connect(self) -> None:
        """Stop the Connect worker and start it again: what it had abandoned ends with it.

        Tasks that wait for a pipe do not stop: the worker gives each up before it ends.
        """
        connect = self._running.connect
        before = connect.all_abandonments()
        connect.restart(self._running.processes)
        self._abandoned.clear()
        self._abandoned_total += connect.all_abandonments() - before

    @contextmanager
    def another_connect(self, group: str = "connect-2") -> Iterator[Connect]:
        """Inside, a second Connect cluster of one worker runs on the same broker; the truth leaves it out."""
        running = self._running
        connect = running.connect.another(group)
        connect.launch(running.processes)
        try:
            connect.wait()
            yield connect
        finally:
            connect.end(running.processes)

    def abandonments(self, connector: str) -> int:
        """How often Connect's log says that it gave up on the task of the connector."""
        return self._running.connect.abandonments(connector)

    def stall_broker(self, seconds: float = 16) -> None:
        """Stop the broker while records flow through Streams: tasks time out, batches expire."""
        running = self._running
        running.streams.wait()
        with Feeder(running.broker.bootstrap_servers):
            running.topics.wait_beyond(OUTPUT, running.topics.end(OUTPUT))
            with self.broker_stopped():
                time.sleep(seconds)
            running.streams.outlive(running.processes)

    @contextmanager
    def broker_stopped(self) -> Iterator[None]:
        """Inside, the broker answers nobody; its connections stay open."""
        broker = self._running.broker.process
        broker.signal(signal.SIGSTOP)
        try:
            yield
        finally:
            broker.signal(signal.SIGCONT)

    def reject_share_records(self, count: int) -> None:
        """A share group rejects ``count`` records and what waited before; each becomes a dead letter."""
        running = self._running
        before = running.topics.end(share.DLQ)
        running.topics.produce(share.TOPIC, (b'{"order":%d}' % number for number in range(count)))
        rejected = share.reject(running.broker.bootstrap_servers, count)
        running.topics.wait_beyond(share.DLQ, before + rejected - 1)
        self._dead_letters[share.DLQ] += rejected

    def break_connect_records(self, count: int) -> None:
        """A sink meets ``count`` records that are not JSON, and as many that are."""
        running = self._running
        running.connect.deploy_file_sink("filesink")
        before = running.topics.end(FILESINK_DLQ)
        pairs = ((b'{"order":%d}' % number, b'{"order":%d' % number) for number in range(count))
        running.topics.produce(FILESINK_TOPIC, (value for pair in pairs for value in pair))
        running.topics.wait_beyond(FILESINK_DLQ, before + count - 1)
        self._dead_letters[FILESINK_DLQ] += count

    def accept_share_records(self, count: int) -> None:
        """The share group is mended: it accepts ``count`` records that somebody puts back."""
        self._share_accepted += share.accept(self.bootstrap_servers, count)

    @contextmanager
    def connect_records_return(self, count: int) -> Iterator[None]:
        """Inside, ``count`` dead letters are put back to the sink, which is as it was: they fail again."""
        topics = self._running.topics
        before = topics.end(FILESINK_DLQ)
        yield
        topics.wait_beyond(FILESINK_DLQ, before + count - 1)
        self._dead_letters[FILESINK_DLQ] += count
        self._connect_returned += count

    def describe(self) -> str:
        """Where everything is, a line each."""
        return self._running.describe()

    @property
    def _running(self) -> Services:
        if self._services is None:
            raise LabError("the lab is not running: use it in a with statement")
        return self._services
