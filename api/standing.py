"""Changes policies: what a new one leaves to others is what its topics hold when it is made."""

import uuid
from collections.abc import Callable
from functools import cached_property

from api.settings import ApiSettings
from api.store import Store, reported, writing_engine
from streaming.filter import Filter
from streaming.redrive.admission import check_terms
from streaming.redrive.cluster import Cluster
from streaming.redrive.policy import Policy, PolicyRequest, Positions
from streaming.redrive.targets import TargetRules
from streaming.store.audit import Witness
from streaming.store.dlq_names import named_topics
from streaming.store.policies import PolicyBook

ANY_TOPIC = "dlq.any"
"""Stands for a topic where the terms are judged that are the same for all."""


class Standing:
    """Writes policies to the store that ``store`` reads; it has to be there."""

    def __init__(self, settings: ApiSettings, store: Store, now_ms: Callable[[], int]) -> None:
        self._settings, self._store, self._now_ms = settings, store, now_ms

    def create(self, request: PolicyRequest, by: str, also: Witness) -> Policy:
        """The policy, kept. Raises ``RedriveError``."""
        policy = self._policy(str(uuid.uuid4()), request, by)
        with reported():
            return self._book.create(policy, also)

    def change(
        self, policy: str, request: PolicyRequest, by: str, expected: int | None, also: Witness
    ) -> Policy:
        """The policy as it is now. Raises ``RedriveError``."""
        changed = self._policy(policy, request, by)
        with reported():
            return self._book.change(changed, expected, also)

    def delete(self, policy: str, by: str, expected: int | None, also: Witness) -> None:
        """No more orders of it. Raises ``RedriveError``."""
        with self._store.read():
            pass  # says what a writer cannot: that there is no store yet, or one of another version
        with reported():
            self._book.delete(policy, by, self._now_ms(), expected, also)

    def _policy(self, policy: str, request: PolicyRequest, by: str) -> Policy:
        settings, now_ms = self._settings, self._now_ms()
        with self._store.read() as connection:
            named = named_topics(connection)
        rules = TargetRules({}, settings.targets_allow, settings.dlq_topics, settings.dlq_topics_deny, named)
        if request.filter is not None:
            Filter(request.filter)  # by itself: positions in what is refused are the user's
        check_terms(request.order(ANY_TOPIC), rules)
        positions = {} if request.include_existing else self._ends(request, rules)
        return Policy(policy, 1, request, by, now_ms, now_ms, positions)

    def _ends(self, request: PolicyRequest, rules: TargetRules) -> Positions:
        """Where the topics end now that it covers."""
        cluster = Cluster(self._settings.kafka)
        return {
            topic: dict(cluster.extents(topic, partitions).end)
            for topic, partitions in cluster.partitions().items()
            if rules.is_dlq(topic) and request.covers(topic)
        }

    @cached_property
    def _book(self) -> PolicyBook:
        return PolicyBook(writing_engine(self._settings.store_url))
