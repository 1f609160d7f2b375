"""The targets of an order: where its dead letters go, and which targets fail for now (KIP-572)."""

from collections.abc import Iterable
from dataclasses import replace
from random import Random
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka import admin as typed_admin
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from deadwatch.contract.backoff import Backoff
from deadwatch.contract.deadline import Deadline
from deadwatch.contract.topics import PARKED_SUFFIX
from deadwatch.deadletter.record import DeadLetter
from deadwatch.orders.decision import TargetState
from deadwatch.orders.order import Order
from deadwatch.orders.targets import Skip, TargetPlace, TargetRules, target_of
from redrive.move.failures import UnmadeTopicError
from redrive.move.rewrite import BY_KEY

admin: Any = typed_admin  # its types leave out what is used here

Target = tuple[str, int]
"""Topic and partition; ``BY_KEY``, where the record's key decides, stands for all partitions of the topic."""

TIMEOUT_S: Final = 10.0
MAX_ROUTES: Final = 10_000
UNMADE: Final = frozenset(
    {
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.POLICY_VIOLATION,
    }
)
"""Why Kafka refuses to make a topic; only people can fix it."""
TRANSACTION: Final = ("", BY_KEY)
"""What is to blame when no target is."""


class Router:
    """Where the dead letters of one order go: decided once for all that name the same origin.

    The ``rules`` have no topics yet: the cluster's topics are those of the last ``refresh``.
    """

    def __init__(self, admin: AdminClient, order: Order, rules: TargetRules) -> None:
        self._admin, self._order, self._rules = admin, order, rules
        self._routes: dict[tuple[str, int | None, str, bool], TargetPlace | Skip] = {}
        self.version = 0
        """Grows when routes may have changed."""

    def refresh(self) -> None:
        """Ask the cluster for its topics; raises ``KafkaException`` when it does not answer."""
        topics = self._admin.list_topics(timeout=TIMEOUT_S).topics  # of all topics: asking for one creates it
        partitions = {name: len(topic.partitions) for name, topic in topics.items()}
        self._rules = replace(self._rules, partitions=partitions)
        self._routes.clear()
        self.version += 1

    def route(self, dead_letter: DeadLetter) -> TargetPlace | Skip:
        """The target of a dead letter, or why it has none."""
        cause = dead_letter.cause
        origin = (cause.source_topic, cause.source_partition, cause.consumergroup, cause.headers_unreadable)
        known = self._routes.get(origin)
        if known is None:
            if len(self._routes) >= MAX_ROUTES:  # headers may say anything
                self._routes.clear()
            known = self._routes[origin] = target_of(dead_letter, self._order.request.target, self._rules)
        return known

    def parked(self, partition: int) -> tuple[str, int | None]:
        """Where a record is parked: the topic is made, as wide as the dead letter topic, if it is missing.

        Raises ``UnmadeTopicError`` where Kafka refuses that, and ``KafkaException`` when it does not answer.
        """
        dlq = self._order.request.dlq_topic
        topic = dlq + PARKED_SUFFIX
        if topic not in self._rules.partitions:
            missing = NewTopic(topic, self._rules.partitions.get(dlq, 1))
            try:
                self._admin.create_topics([missing], request_timeout=TIMEOUT_S)[topic].result()
            except KafkaException as raised:
                error: KafkaError = raised.args[0]
                if error.code() in UNMADE:
                    raise UnmadeTopicError(topic, error) from None
                if error.code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    text = f"topic {topic} cannot be made: {error.str()}"
                    raise KafkaException(KafkaError(error.code(), text)) from None
            self.refresh()
        same_width = self._rules.partitions.get(topic) == self._rules.partitions.get(dlq)
        return topic, partition if same_width else None

    def unwritable(self, topics: Iterable[str]) -> list[str]:
        """The topics that we may not write to; all of them where Kafka does not say."""
        wanted = sorted(topics)
        try:
            described: Any = self._admin.describe_topics(
                TopicCollection(wanted), include_authorized_operations=True, request_timeout=TIMEOUT_S
            )
            allowed = {name: future.result().authorized_operations for name, future in described.items()}
        except KafkaException:
            return wanted
        write = admin.AclOperation.WRITE
        return [name for name in wanted if write not in (allowed[name] or [])] or wanted


class TargetDeadlines:
    """The failing targets of one order: how long each is left alone, and when its time is up.

    A target that answers has no entry.
    """

    def __init__(self, task_timeout_ms: int, backoff: Backoff, rng: Random) -> None:
        self._task_timeout_ms, self._backoff, self._rng = task_timeout_ms, backoff, rng
        self._by_target: dict[Target, TargetState] = {}

    def of(self, topic: str, partition: int | None) -> TargetState | None:
        """The deadline of a target; None where it does not fail."""
        if not self._by_target:
            return None
        return self._by_target.get((topic, BY_KEY if partition is None else partition))

    def failed(self, targets: Iterable[Target], now_ms: int) -> None:
        """Each target has met one more timeout, and so have the records of its topic that go by key."""
        both = (one for topic, partition in targets for one in ((topic, partition), (topic, BY_KEY)))
        for target in dict.fromkeys(both):
            known = self._by_target.get(target) or TargetState(Deadline(self._task_timeout_ms))
            wait_ms = self._backoff.delay_ms(known.failures + 1, self._rng)
            self._by_target[target] = known.failed(now_ms, wait_ms)

    def progressed(self, targets: Iterable[Target]) -> None:
        """Each target has taken records: its deadline ends, and that of the records that go by key."""
        for topic, partition in targets:
            self._by_target.pop((topic, partition), None)
            self._by_target.pop((topic, BY_KEY), None)
        self._by_target.pop(TRANSACTION, None)

    def answered(self, topic: str) -> None:
        """All partitions of a topic of ours have taken records."""
        self._by_target = {target: one for target, one in self._by_target.items() if target[0] != topic}

    def running(self) -> bool:
        """Whether any target fails now."""
        return bool(self._by_target)

    def expired(self) -> Target | None:
        """A target whose time is up, if there is one."""
        return next((target for target, one in self._by_target.items() if one.expired), None)

    def failing(self, most: int) -> Target | None:
        """A target that has failed ``most`` times in a row, if there is one."""
        return next((target for target, one in self._by_target.items() if one.failures >= most), None)
