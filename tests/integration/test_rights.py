"""The service over SASL_SSL, as a user with the rights that ``docs/configuration.md`` lists and no other.

It is killed in part, and stopped.
"""

import re
import signal
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from deadwatch.runtime.kafka import KafkaConnection
from deadwatch.runtime.process import OTHERS
from lab import share
from lab.broker import LoneBroker
from lab.jvm import Properties
from lab.topics import Topics
from tests import http
from tests.command_line import deadwatch
from tests.integration import acls
from tests.integration.acls import CLUSTER, GROUP, LITERAL, PREFIXED, TOPIC, TRANSACTIONS, admin
from tests.integration.up_process import EXPIRED, Up, died, left_by_nobody, running, stalled
from tests.kafka_topics import Headers, producing
from tests.waiting import until

BROKER: Final[Properties] = {"authorizer.class.name": acls.AUTHORIZER, "super.users": "User:ANONYMOUS"}
"""Whoever comes by the listener without encryption is the administrator."""
DOCS: Final = Path("docs/configuration.md")
LETTERS, REJECTED = 6, 4
WITHIN_S: Final = 240
STOPS_WITHIN_S: Final = 40
PLACES: Final = {
    "topic `deadwatch.events`": [(TOPIC, "deadwatch.events", LITERAL)],
    "topic `dlq.deadwatch`": [(TOPIC, "dlq.deadwatch", LITERAL)],
    "your topics of log lines (`log_topics`)": [(TOPIC, "lines", LITERAL)],
    "your dead letter topics": [(TOPIC, "dlq.orders", LITERAL), (TOPIC, "dlq.shared", LITERAL)],
    "topics that a redrive may write to": [(TOPIC, "orders", LITERAL), (TOPIC, "shared", LITERAL)],
    "topics that a share group's dead letters came from": [(TOPIC, "shared", LITERAL)],
    "topics `<dead letter topic>.parked`": [
        (TOPIC, f"{queue}.parked", LITERAL) for queue in ("dlq.orders", "dlq.shared", "dlq.deadwatch")
    ],
    "cluster, and your share groups": [(CLUSTER, "kafka-cluster", LITERAL), (GROUP, "sharing", LITERAL)],
    "group prefix `deadwatch-`": [(GROUP, "deadwatch-", PREFIXED)],
    "groups that a redrive waits for (`lag_group`)": [(GROUP, "billing", LITERAL)],
    "transactional id prefix `deadwatch-redrive-`": [(TRANSACTIONS, "deadwatch-redrive-", PREFIXED)],
    "transactional id `collector` (setting `collector.name`)": [(TRANSACTIONS, "collector", LITERAL)],
}
"""What the table of the documentation names, here."""
OPERATIONS: Final = {
    "Read": admin.AclOperation.READ,
    "Write": admin.AclOperation.WRITE,
    "Describe": admin.AclOperation.DESCRIBE,
    "DescribeConfigs": admin.AclOperation.DESCRIBE_CONFIGS,
    "Create": admin.AclOperation.CREATE,
}


def listed() -> dict[str, list[str]]:
    """The operations of each row of the table."""
    table = DOCS.read_text().partition("## What Deadwatch needs on Kafka")[2].partition("<!--")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    words = re.compile(rf"\b({'|'.join(OPERATIONS)})\b")
    return {place: words.findall(operations) for place, operations, *_ in rows[1:]}


def grant(broker: LoneBroker) -> None:
    """What is listed, to the user of the encrypted listener."""
    rights = listed()
    assert rights.keys() == PLACES.keys(), "the documentation names something else"
    who = f"User:{broker.sasl_ssl.username}"
    bindings = {
        admin.AclBinding(kind, name, pattern, who, "*", OPERATIONS[operation], admin.AclPermissionType.ALLOW)
        for place, operations in rights.items()
        for kind, name, pattern in PLACES[place]
        for operation in operations
    }
    acls.grant(broker.bootstrap_servers, bindings)


def acl(broker: LoneBroker, topic: str, operation: object) -> Any:  # noqa: ANN401 -- as above
    who = f"User:{broker.sasl_ssl.username}"
    return admin.AclBinding(TOPIC, topic, LITERAL, who, "*", operation, admin.AclPermissionType.ALLOW)


def connection(broker: LoneBroker) -> dict[str, str]:
    """Settings ``kafka`` of the user whose rights are the documented ones."""
    sasl = broker.sasl_ssl
    return {
        "bootstrap_servers": sasl.bootstrap_servers,
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": sasl.mechanism,
        "sasl_username": sasl.username,
        "sasl_password": sasl.password,
        "ssl_ca_location": str(sasl.ca_file),
    }


@pytest.fixture
def config(broker: LoneBroker, tmp_path: Path) -> Path:
    file = tmp_path / "deadwatch.yaml"
    content = {
        "kafka": connection(broker),
        "quarantine_auto_create_topics_enable": True,
        "collector": {"log_topics": [{"topic": "lines"}], "dlq_topics_poll_interval_ms": 1_000},
        "streaming": {"topics_poll_interval_ms": 1_000},
    }
    file.write_text(yaml.safe_dump(content))
    return file


def fill(broker: LoneBroker) -> None:
    """Dead letters of a sink and of a share group, lines of a log; the last letter has been tried enough.

    The broker's first TLS handshakes, its slowest, are over then.
    """
    servers = broker.bootstrap_servers
    topics = Topics(servers)
    topics.create("orders", "shared", "dlq.orders", "secret", "dlq.secret")
    topics.create("lines", partitions=1)  # the entries of a log keep their order
    with producing(servers) as producer:
        for number in range(LETTERS + 1):
            headers: Headers = [("__connect.errors.topic", "orders")]
            if number == LETTERS:
                headers.append(("deadwatch.redrive.attempts", "99"))
            producer.produce("dlq.orders", b"value", b"%d" % number, headers=headers)
        producer.produce("dlq.secret", b"none of our business")
        producer.produce("lines", EXPIRED.format(second=1).encode())
    share.configure(servers, "sharing", "dlq.shared")
    topics.produce("shared", [b"order"] * REJECTED)
    share.reject(servers, REJECTED, "sharing", "shared")
    topics.wait_beyond("dlq.shared", REJECTED - 1)
    admin.AdminClient(KafkaConnection(**connection(broker)).librdkafka()).list_topics(timeout=WITHIN_S)


def redrive(up: Up, queue: str, engine: str, *, moved: int, parked: int) -> None:
    """A queue's records are put back while a group keeps up with them; what becomes of them is counted."""
    request = {
        "dlq_topic": queue,
        "selection": {"filter": "true"},
        "guards": {"lag_group": "billing", "max_target_lag": 1_000},
        "engine": engine,
        "dry_run": False,
        "reason": "fixed",
    }
    answer = http.post(f"{up.url}/api/v1/redrives", json=request, headers=up.authorization)
    assert answer.status_code == 202, answer.text
    address = f"{up.url}/api/v1/redrives/{answer.json()['id']}"

    def told() -> Any:  # noqa: ANN401 -- JSON
        return http.get(address).raise_for_status().json()

    expected = {"status": "COMPLETED", "moved": moved, "parked": parked, "skipped": 0, "failed": 0}
    until(lambda: expected.items() <= told().items(), told, WITHIN_S)


def counts(up: Up, expected: dict[str, int]) -> None:
    """Wait until each dead letter topic has so many."""

    def counted() -> dict[str, int]:
        return {topic: up.dead_letters(topic) for topic in expected}

    until(
        lambda: counted() == expected,
        lambda: f"{counted()} are not {expected}:\n{up.errors.read_text()[-4_000:]}",
        WITHIN_S,
    )


def test_the_rights_that_are_listed_are_all_that_it_needs(broker: LoneBroker, config: Path) -> None:
    grant(broker)
    fill(broker)
    directory = config.parent
    settings = ("--config", str(config), "--data", str(directory / "data"))
    with running(config, directory) as up:
        Topics(broker.bootstrap_servers).produce("deadwatch.events", [b"no event"])
        counts(up, {"dlq.orders": LETTERS + 1, "dlq.shared": REJECTED, "dlq.secret": 0})
        for name, value in (("delivery_timeout_records", 3), ("quarantined", 1)):
            until(lambda: up.figure(f"deadwatch_{name}_total") == value, name, WITHIN_S)  # noqa: B023 -- called at once
        record = http.get(f"{up.url}/api/v1/dead-letters/records/dlq.orders/0/0", headers=up.authorization)
        assert record.status_code == 200, record.text
        doctor = deadwatch("doctor", *settings, "--port", "0", within_s=WITHIN_S)
        redrive(up, "dlq.orders", "local", moved=LETTERS, parked=1)
        redrive(up, "dlq.shared", "spark", moved=REJECTED, parked=0)
        log = up.errors.read_text()
        assert not re.search(r"\bDown\b|allow us|uthoriz|Traceback", log), log
        dead_letters_that_may_not_be_read_hide_no_others(broker, up)
        figures_stay_exact_when_streaming_is_killed(broker, up)
        a_stop_leaves_nothing(up, directory / "data")
        assert broker.sasl_ssl.password not in up.errors.read_text()
    assert [
        line
        for line in doctor.stdout.splitlines()
        if not line.startswith(("ok ", "warn  Connect", "warn  redrive: one replica"))
    ] == []
    anew = deadwatch("backfill", *settings, "--from", "beginning", "--yes", within_s=WITHIN_S)
    assert anew.returncode == 0, anew.stderr


def dead_letters_that_may_not_be_read_hide_no_others(broker: LoneBroker, up: Up) -> None:
    """Seen, granted, taken away and granted again: each is counted once, the others all the while."""
    servers, topics = broker.bootstrap_servers, Topics(broker.bootstrap_servers)
    seen, read = (acl(broker, "dlq.closed", OPERATIONS[name]) for name in ("Describe", "Read"))
    topics.create("dlq.closed")
    orders = LETTERS + 1

    def more() -> None:
        for topic in ("dlq.orders", "dlq.closed"):
            topics.produce(topic, [b"value"] * LETTERS)

    def told() -> str:
        return " ".join(http.get(f"{up.url}/readyz").json()["warnings"])

    acls.grant(servers, [seen])
    more()
    counts(up, {"dlq.orders": orders + LETTERS, "dlq.closed": 0})
    until(lambda: "allow deadwatch Read on them or add them to dlq_topics_deny: dlq.closed" in told(), told)
    acls.grant(servers, [read])
    counts(up, {"dlq.orders": orders + LETTERS, "dlq.closed": LETTERS})
    until(lambda: not told(), told)
    acls.take_away(servers, [read])
    until(lambda: "dlq.closed" in told(), told)
    more()
    counts(up, {"dlq.orders": orders + 2 * LETTERS, "dlq.closed": LETTERS})
    acls.grant(servers, [read])
    counts(up, {"dlq.orders": orders + 2 * LETTERS, "dlq.closed": 2 * LETTERS})


def figures_stay_exact_when_streaming_is_killed(broker: LoneBroker, up: Up) -> None:
    """Dead letters, records that expired, and timers that run."""
    topics, orders = Topics(broker.bootstrap_servers), up.dead_letters("dlq.orders")

    def log(text: str) -> None:
        topics.produce("lines", [line.encode() for line in text.splitlines()])

    def timers() -> int:
        return up.figure("deadwatch_task_timers", application="words")

    log(stalled(datetime.now(UTC)))
    corrupted = {"application": "words", "task": "0_2"}
    until(lambda: timers() == 2, "no timers ran")
    until(lambda: up.figure("deadwatch_tasks_corrupted_total", **corrupted) == 1, "no task was corrupted")
    (told, _) = http.get(f"{up.url}/api/v1/tasks").json()["timers"]
    assert (told["application"], told["call"]) == ("words", "commit")

    up.child("streaming").send_signal(signal.SIGKILL)
    topics.produce("dlq.orders", [b"value"] * LETTERS)
    topics.produce("lines", [EXPIRED.format(second=2).encode()])
    counts(up, {"dlq.orders": orders + LETTERS})
    until(lambda: up.figure("deadwatch_delivery_timeout_records_total") == 6, "what expired is not counted")
    assert timers() == 2
    log(died(datetime.now(UTC)))
    until(lambda: timers() == 0, "the timers of a dead client did not end")
    until(
        lambda: up.figure("deadwatch_stream_thread_deaths_total", decision="SHUTDOWN_CLIENT") == 1, "no death"
    )
    killed = r"streaming ended with exit code -9 \(killed by signal 9\), restarting in \d+ ms \(failure 1\)"
    assert re.search(killed, up.errors.read_text())


def a_stop_leaves_nothing(up: Up, data: Path) -> None:
    """No process, and no file that others may read."""
    for one in (data, data / "deadwatch.db", *data.glob("deadwatch.db-*"), data / "lock"):
        assert one.stat().st_mode & OTHERS == 0, one
    with left_by_nobody(up):
        up.process.terminate()
        assert up.process.wait(STOPS_WITHIN_S) == 0
    assert "Graceful stop" not in up.errors.read_text()
