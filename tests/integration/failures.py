"""Every failure that the lab, its Connect and the service itself can be brought to, for alerts and panels."""

import json
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

import httpx2
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType

from cli.api_client import Api, NoAnswerError
from deadwatch.contract.topics import EVENTS, OWN_DLQ
from deadwatch.orders.options import next_step
from lab import Lab, share
from lab.connect import FILESINK_DLQ, FLUSH_INTERVAL_MS, json_sink, pipe_source
from lab.topics import Topics
from tests import http
from tests.families import frozen
from tests.integration.test_redrive_service import deploy
from tests.integration.test_stalled_tasks import piped
from tests.integration.up_process import Up, stalled
from tests.kafka_topics import truncate
from tests.waiting import until

RECORDS = 10
REFUSES = {"cleanup.policy": "compact"}
"""A compacted topic takes no record without a key, and neither our records nor the lab's have one."""
NO_KEY = "Compacted topic cannot accept message without key"
OF_GROUPS = {"errors.deadletterqueue.group.enable": "true"}
CUT, REFUSED = "dlq.cut", "dlq.refused"
HASTY = {"consumer.override.retry.backoff.ms": "2000", "consumer.override.retry.backoff.max.ms": "1000"}
"""KIP-580 warns of it."""
POLL_FAILED = "failed to poll records from SourceTask. Will retry operation."
LONG = "x" * (1 << 20)
"""A line that no log has."""
UNKNOWN_TOPIC = "ERROR [Producer clientId=lost] Topic orders not present in metadata after 60000 ms. (o.K:1)"
EVENTS_OF_A_BATCH, BACKLOG = 200, 10_000
"""A backlog is read in 50 batches, each of which takes a few tenths of a second at least."""


def lines(now: datetime) -> str:
    """What brokers, workers and clients log when they fail in ways that the lab does not."""
    at = f"[{now:%Y-%m-%d %H:%M:%S},000]"
    return (
        f"{at} WARN [hung|worker] Connector 'hung' failed to properly shut down, has become unresponsive, and"
        " may be consuming external resources. Correct the configuration for this connector or remove the"
        " connector. After fixing the connector, it may be necessary to restart this worker to release any"
        " consumed resources. (o.W:1)\n"
        f"{at} {UNKNOWN_TOPIC}\n"
        + 5 * f"{at} WARN [away|task-0] WorkerSourceTask{{id=away-0}} {POLL_FAILED} (o.A:1)\n"
        + f"{at} WARN Skipping record due to null key. topic=[orders] partition=[0] offset=[7] (o.K:1)\n"
        + f"{at} INFO next (a.b.C:1)\n"
    )


def prepare(lab: Lab) -> None:
    """Topics as no operator wants them: queues that take nothing, and one that will be cut."""
    topics = Topics(lab.bootstrap_servers)
    topics.create(OWN_DLQ, REFUSED, partitions=1, config=OF_GROUPS | REFUSES)
    topics.create(CUT, partitions=1, config=OF_GROUPS)


def config(lab: Lab, directory: Path, log: Path) -> Path:
    """The file of a service that watches all of the lab, cannot tell many groups apart and reads slowly."""
    file = directory / "deadwatch.yaml"
    logs = [lab.logs.broker, lab.logs.connect, lab.logs.streams, log, directory / "missing.log"]
    content = {
        "kafka": {"bootstrap_servers": lab.bootstrap_servers},
        "kafka_cluster": "lab",
        "streaming": {
            "max_groups": 2,
            "max_offsets_per_trigger": EVENTS_OF_A_BATCH,
            "topics_poll_interval_ms": 1_000,
        },
        "collector": {
            "name": "lab",
            "heartbeat_interval_ms": 1_000,
            "dlq_topics_poll_interval_ms": 2_000,
            "logs": [{"path": str(path)} for path in logs],
            "connect": [
                {
                    "url": lab.connect_url,
                    "jolokia_url": lab.connect_jolokia_url,
                    "tasks_poll_interval_ms": 1_000,
                    "stalled_after_ms": 2_000,
                    "offset_flush_interval_ms": FLUSH_INTERVAL_MS,
                }
            ],
            "brokers": [{"jolokia_url": lab.broker_jolokia_url}],
        },
    }
    file.write_text(json.dumps(content))
    return file


@dataclass(frozen=True)
class Failures:
    """Of ``lab`` and the service ``up`` that watches it and the file ``log``."""

    lab: Lab
    up: Up
    log: Path

    def provoke(self) -> float:
        """Everything that the lab can do, then what it cannot, as log lines; last what is put back.

        The time from which on events are counted: until then their batches fail.
        """
        servers = self.lab.bootstrap_servers
        Topics(servers).produce(EVENTS, [b"no JSON"])  # our queue refuses it: batches fail until it is fixed
        self._append(f"{LONG}\n")
        self.lab.abandon_task()
        self.lab.reject_share_records(RECORDS)
        for group, queue in (("refused", REFUSED), ("cut", CUT)):
            share.configure(servers, group, queue)
        share.reject(servers, RECORDS, "refused")
        self.lab.break_connect_records(RECORDS)
        self._misconfigure()
        self.lab.stall_broker()
        for process in ("collector", "streaming"):
            until(lambda: self._refused(process), f"{OWN_DLQ} takes what {process} writes")  # noqa: B023 -- called at once
        self._cut()
        counted_s = time.time()
        self._fix(OWN_DLQ)
        now = datetime.now(UTC)
        self._append(lines(now) + stalled(now))
        until(lambda: self.up.figure("deadwatch_task_timers", application="words") == 2, "no timers ran")
        self._redrive()
        return counted_s

    def fall_behind(self) -> None:
        """Much is logged while streaming stands still; then it reads all of that, a little at a time."""
        topics = Topics(self.lab.bootstrap_servers)
        with frozen(self.up.child("streaming")):
            enough, at = topics.end(EVENTS) + BACKLOG, f"[{datetime.now(UTC):%Y-%m-%d %H:%M:%S},000]"
            self._append(BACKLOG * f"{at} {UNKNOWN_TOPIC}\n" + f"{at} INFO next (a.b.C:1)\n")
            until(lambda: topics.end(EVENTS) >= enough, f"the collector did not write {BACKLOG} events")

    @contextmanager
    def stalled_sink(self, pipe: Path, name: str) -> Iterator[None]:
        """A sink that blocks because nobody reads what it writes."""
        with piped(self.lab, pipe, name) as reader:
            reader.rest()
            Topics(self.lab.bootstrap_servers).produce(name, (b"x" * 1_000 for _ in range(2_000)))
            yield

    def _cut(self) -> None:
        """Dead letters are deleted before they are read: streaming, which has begun to read, stands still."""
        servers = self.lab.bootstrap_servers
        topics = Topics(servers)
        with frozen(self.up.child("streaming")):
            share.reject(servers, RECORDS, "cut")
            until(lambda: topics.end(CUT) >= RECORDS, f"the broker did not write {RECORDS} dead letters")
            truncate(servers, CUT, -1)

    def _refused(self, process: str) -> bool:
        lines = self.up.errors.read_text().splitlines()
        return any(f"[{process}]" in line and NO_KEY in line for line in lines)

    def _fix(self, topic: str) -> None:
        fixed = ConfigResource(ConfigResourceType.TOPIC, topic, {"cleanup.policy": "delete"})
        with closing(KafkaAdminClient(bootstrap_servers=self.lab.bootstrap_servers)) as admin:
            admin.alter_configs([fixed])

    def _misconfigure(self) -> None:
        """Sinks that skip what they cannot read: without a queue, with one that refuses or has no headers."""
        sink = json_sink(self.log.with_name("sink.txt"))
        queueless = {key: value for key, value in sink.items() if "deadletterqueue" not in key}
        mute = sink | {"errors.deadletterqueue.context.headers.enable": "false"}
        self._break("silent", queueless | HASTY)
        self._break("refused", sink | {"errors.deadletterqueue.topic.name": REFUSED})
        self._break("mute", mute, records=0)
        self._break("strict", queueless | {"errors.tolerance": "none"})
        self._fail_connector()
        self._keep_from_starting()
        self._lose_thread()

    def _keep_from_starting(self) -> None:
        """A connector and its task whose setting, kept in a file, is gone when both are restarted."""
        connector, kept = self._kept("unstarted")
        kept.unlink()
        self._restart(f"{connector}/restart?includeTasks=true")

    def _kept(self, name: str) -> tuple[str, Path]:
        """The address of a connector that reads an empty file, and the file that keeps a setting of it."""
        connector = f"{self.lab.connect_url}/connectors/{name}"
        kept, empty = self.log.with_name(name), self.log.with_name("empty")
        kept.write_text("size=100\n")
        empty.touch()
        deploy(connector, {**pipe_source(empty), "batch.size": f"${{file:{kept}:size}}"})
        return connector, kept

    def _restart(self, url: str) -> None:
        """Connect refuses while its group rebalances; what cannot start anew is another error."""
        until(lambda: http.post(url).status_code != HTTPStatus.CONFLICT, "the restart is not accepted")

    def _lose_thread(self) -> None:
        """The task of a sink that has failed is called RUNNING by REST."""
        sink = json_sink(self.log.with_name("lost.txt"))
        strict = {key: value for key, value in sink.items() if "deadletterqueue" not in key}
        self._break("lost", strict | {"errors.tolerance": "none"})
        status = f"{self.lab.connect_url}/connectors/lost/status"

        def state() -> str:
            return str(http.get(status).json()["tasks"][0]["state"])

        until(lambda: state() == "FAILED", lambda: f"the task is {state()}")
        self.lab.connect.lose_thread("lost")

    def _fail_connector(self) -> None:
        """A connector whose setting, kept in a file, is no number any more when it is restarted."""
        connector, kept = self._kept("unsettled")
        kept.write_text("size=many\n")
        self._restart(f"{connector}/restart")

        def state() -> str:
            return str(http.get(f"{connector}/status").json()["connector"]["state"])

        until(lambda: state() == "FAILED", lambda: f"the connector is {state()}")

    def _break(self, sink: str, settings: Mapping[str, str], records: int = RECORDS) -> None:
        topics = Topics(self.lab.bootstrap_servers)
        topics.create(sink)
        deploy(f"{self.lab.connect_url}/connectors/{sink}", {**settings, "topics": sink})
        topics.produce(sink, (b"no JSON" for _ in range(records)))

    def _redrive(self) -> None:
        """What the share group rejected comes home; what the sink cannot read comes back, then is parked."""
        once = {"retry": {"max_attempts": 1}, "guards": {"max_bounce_ratio": None}}
        slow = {"limits": {"records_per_second": 0.01}}
        access = self.up.authorization
        with httpx2.Client(base_url=self.up.url, headers=access, timeout=60, trust_env=False) as client:
            api = Api(client)
            _order(api, share.DLQ, {"all": True})
            with self.lab.connect_records_return(RECORDS):
                _order(api, FILESINK_DLQ, {"all": True}, **once)
            _order(api, FILESINK_DLQ, {"filter": "attempts > 0"}, **once)
            waiting = _ordered(api, FILESINK_DLQ, {"all": True}, again=True, **slow)
            api.post(f"/redrives/{waiting['id']}/pause")

    def _append(self, text: str) -> None:
        with self.log.open("a") as file:
            file.write(text)


def _ordered(api: Api, topic: str, selection: Mapping[str, object], **more: object) -> Mapping[str, Any]:
    request = {"dlq_topic": topic, "selection": selection, "reason": "test", **more}
    dry = _accepted(api, {**request, "dry_run": True})
    return _accepted(api, {**request, **next_step(dry)})


def _accepted(api: Api, request: Mapping[str, object]) -> Mapping[str, Any]:
    """The answer, once streaming has read what was moved before: until then an order is refused."""
    key, answers, refused = str(uuid.uuid4()), list[Mapping[str, Any]](), list[NoAnswerError]()

    def accepted() -> bool:
        try:
            answers.append(api.post("/redrives", request, key))
        except NoAnswerError as error:
            refused.append(error)
        return bool(answers)

    until(accepted, lambda: refused[-1:])
    return answers[0]


def _order(api: Api, topic: str, selection: Mapping[str, object], **more: object) -> None:
    order = _ordered(api, topic, selection, **more)

    def status() -> str:
        return str(api.get(f"/redrives/{order['id']}")["status"])

    until(lambda: status() == "COMPLETED", lambda: f"the redrive of {topic} is {status()}")
