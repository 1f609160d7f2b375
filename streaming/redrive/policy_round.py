"""Looks at the policies of the store and makes the orders that are due, until it is stopped.

Every worker looks; whoever takes a policy has it for a round. What keeps a policy from its order is kept with
it, and the next look comes later each time (KIP-580).
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final

from collector.contract.backoff import Backoff
from streaming.redrive.cluster import Cluster, Extents
from streaming.redrive.creation import Door, Wish
from streaming.redrive.errors import RedriveError
from streaming.redrive.order import Status
from streaming.redrive.policies import Due, due, rests
from streaming.redrive.policy import Latest, Policy
from streaming.redrive.targets import TargetRules
from streaming.store.policies import PolicyBook

logger = logging.getLogger(__name__)

BACKOFF: Final = Backoff(10_000, 300_000)
FAILED: Final = "its order {} has failed: see there, change the policy, and it goes on"


@dataclass(frozen=True, slots=True)
class Rounds:
    """What a round needs; ``rules`` have no topics yet, ``most`` offsets are covered by one order."""

    book: PolicyBook
    door: Door
    rules: Callable[[], TargetRules]
    interval_ms: int
    most: int
    rng: Random

    def run(self, stop: threading.Event) -> None:
        """Look again and again; what fails as a whole is said and tried again."""
        while not stop.wait(self.interval_ms / 1_000):
            try:
                self.look(stop)
            except Exception:  # the store may be away for a moment
                logger.exception("the redrive policies could not be looked at")

    def look(self, stop: threading.Event) -> None:
        """Once at every policy that is due to be looked at."""
        now_ms = self.door.now_ms()
        for policy in self.book.take(now_ms, now_ms + self.interval_ms):
            if stop.is_set():
                return
            latest = self.book.latest(policy.id)
            try:
                self._carry_out(policy, latest, now_ms)
            except RedriveError as error:
                failures = policy.failures + 1
                at_ms = now_ms + BACKOFF.delay_ms(failures, self.rng)
                self.book.rest(policy, str(error), failures, at_ms)
                logger.warning("policy %s makes no order: %s", policy.id, error)

    def _carry_out(self, policy: Policy, latest: Latest | None, now_ms: int) -> None:
        if rests(policy, latest, now_ms):
            self._say_failed(policy, latest, now_ms)
            return
        rules = self.rules()
        one = due(policy, latest, self._backlog(policy, rules), now_ms, self.most)
        if one is not None:
            self._make(policy, one, rules)
        elif policy.status_reason:  # what kept it is over
            self.book.rest(policy, "", 0, now_ms + self.interval_ms)

    def _backlog(self, policy: Policy, rules: TargetRules) -> dict[str, Extents]:
        cluster = Cluster(self.door.connection)
        known = cluster.partitions()
        return {
            topic: cluster.extents(topic, partitions)
            for topic, partitions in known.items()
            if rules.is_dlq(topic) and policy.request.covers(topic)
        }

    def _make(self, policy: Policy, one: Due, rules: TargetRules) -> None:
        by = f"policy {policy.id}"
        request = policy.request.order(one.topic)
        wish = Wish(request, by, "", lambda _: False, policy.id, one.extents)
        order, plan = self.door.read(wish, rules)
        wanted = order if plan.selected > plan.left_out or plan.at_least else None
        made = self.book.carry_out(policy, one, wanted, plan.model_dump_json())
        if made is not None:
            logger.info("policy %s: order %s about %s", policy.id, made.order.id, one.topic)

    def _say_failed(self, policy: Policy, latest: Latest | None, now_ms: int) -> None:
        if latest is None or latest.status is not Status.FAILED:
            return
        reason = FAILED.format(latest.id)
        if policy.status_reason != reason:
            self.book.rest(policy, reason, policy.failures, now_ms + self.interval_ms)
