"""Where letters go, asked once for all letters that say the same, with the cluster's topics as of lately."""

from collections.abc import Callable, Iterable
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka import admin as typed_admin
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from collector.contract.topics import PARKED_SUFFIX
from streaming.letter import Letter
from streaming.redrive.order import Order
from streaming.redrive.targets import Skip, TargetPlace, TargetRules, target_of

admin: Any = typed_admin  # its types leave out what is used here

Rules = Callable[[dict[str, int]], TargetRules]
TIMEOUT_S: Final = 10.0
MOST_KNOWN: Final = 10_000


class Routes:
    """For one order."""

    def __init__(self, admin: AdminClient, order: Order, rules: Rules) -> None:
        self._admin, self._order, self._make_rules = admin, order, rules
        self._known: dict[tuple[str, int | None, str], TargetPlace | Skip] = {}
        self._rules = rules({})
        self.version = 0
        """Changes with the answers."""

    def refresh(self) -> None:
        """Ask the cluster for its topics; raises ``KafkaException`` when it does not answer."""
        topics = self._admin.list_topics(timeout=TIMEOUT_S).topics  # of all topics: asking for one creates it
        self._rules = self._make_rules({name: len(topic.partitions) for name, topic in topics.items()})
        self._known.clear()
        self.version += 1

    def route(self, letter: Letter) -> TargetPlace | Skip:
        """Where to."""
        said = (letter.source_topic, letter.source_partition, letter.consumergroup)
        known = self._known.get(said)
        if known is None:
            if len(self._known) >= MOST_KNOWN:  # headers may say anything
                self._known.clear()
            known = self._known[said] = target_of(letter, self._order.request.target, self._rules)
        return known

    def parked(self, partition: int) -> tuple[str, int | None]:
        """Where a record is parked: the topic is made, as wide as the dead letter topic, if it is missing."""
        dlq = self._order.request.dlq_topic
        topic = dlq + PARKED_SUFFIX
        if topic not in self._rules.partitions:
            self._create(topic, self._rules.partitions.get(dlq, 1))
            self.refresh()
        same = self._rules.partitions.get(topic) == self._rules.partitions.get(dlq)
        return topic, partition if same else None

    def unwritable(self, topics: Iterable[str]) -> list[str]:
        """Those that we may not write to; all of them where Kafka does not tell."""
        wanted = sorted(topics)
        asked = TopicCollection(wanted)
        try:
            told: Any = self._admin.describe_topics(
                asked, include_authorized_operations=True, request_timeout=TIMEOUT_S
            )
            allowed = {name: found.result().authorized_operations for name, found in told.items()}
        except KafkaException:
            return wanted
        write = admin.AclOperation.WRITE
        return [name for name in wanted if write not in (allowed[name] or [])] or wanted

    def _create(self, topic: str, partitions: int) -> None:
        future = self._admin.create_topics([NewTopic(topic, partitions)])[topic]
        try:
            future.result(TIMEOUT_S)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise
