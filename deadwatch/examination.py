"""``deadwatch doctor``: which checks there are, in the order in which they are shown."""

from collections.abc import Iterator
from functools import partial

from api.checks import identity, kafka, redrive, store
from api.checks.finding import Finding
from deadwatch import checks_connect, checks_machine, doctor
from deadwatch.service import Service


def run(service: Service) -> int:
    """Look at the machine, then at Kafka and Connect; the exit code."""
    return doctor.report(
        [
            checks_machine.python,
            checks_machine.java,
            checks_machine.archives,
            partial(checks_machine.data, service),
            partial(store.store, service.streaming.store_url),
            partial(checks_machine.port, service),
            partial(checks_machine.logs, service),
            partial(of_kafka, service),
            partial(checks_connect.connect, service),
            partial(identity.identity, service.api.oidc),
        ]
    )


def of_kafka(service: Service) -> Iterator[Finding]:
    """What the collector and the redrive need of it."""
    collector = service.collector
    topic = partial(kafka.events_topic, collector.events_topic, collector.events_topic_partitions)
    logs = partial(kafka.log_topics, [logs.topic for logs in collector.log_topics])
    return kafka.kafka(collector.kafka, (topic, logs, partial(redrive.redrive, service.redrive)))
