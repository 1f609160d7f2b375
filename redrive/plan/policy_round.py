"""Looks at the policies of the store and makes the orders that are due, until it is stopped.

Every worker looks; whoever takes a policy has it for a round. Why a policy could not make its order is stored
with it, and the next look comes later each time (KIP-580).
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final

from sqlalchemy.exc import SQLAlchemyError

from deadwatch.contract.backoff import Backoff
from deadwatch.contract.errors import RequestError
from deadwatch.orders.errors import KafkaUnavailableError
from deadwatch.orders.order import Status
from deadwatch.orders.policy import Backlog, Due, Latest, Policy, PolicyRequest, due, rests
from deadwatch.orders.selection import Extents
from deadwatch.orders.targets import TargetRules
from deadwatch.store.trouble import line
from deadwatch.store.write.policies import LONGEST_REST_MS, PolicyBook
from redrive.cluster import Cluster
from redrive.plan.creation import CreateOrder, OrderService

log = logging.getLogger(__name__)

BACKOFF: Final = Backoff(10_000, LONGEST_REST_MS)
FAILED: Final = "its order {} has failed: see there, change the policy, and it goes on"


def backlog(
    cluster: Cluster, request: PolicyRequest, rules: TargetRules
) -> tuple[dict[str, Backlog], list[KafkaUnavailableError]]:
    """What each topic holds that a policy covers, and why some do not tell, as with an offline partition.

    Raises ``KafkaUnavailableError``: none of them tells.
    """
    partitions = cluster.partitions()
    topics = [topic for topic in partitions if rules.is_dlq(topic) and request.covers(topic)]
    ids = cluster.topic_ids(topics) if topics else {}  # before the offsets: these are not of an earlier topic
    found = cluster.extents_of({topic: partitions[topic] for topic in topics}) if topics else {}
    silent = [one for one in found.values() if isinstance(one, KafkaUnavailableError)]
    held = {topic: Backlog(ids[topic], one) for topic, one in found.items() if isinstance(one, Extents)}
    if silent and not held:
        raise silent[0]
    return held, silent


@dataclass(frozen=True, slots=True)
class PolicyRounds:
    """Makes the orders of policies; ``rules`` have no topics yet, ``most`` offsets fit into an order."""

    book: PolicyBook
    orders: OrderService
    rules: Callable[[], TargetRules]
    interval_ms: int
    most: int
    rng: Random

    def run(self, stop: threading.Event) -> None:
        """Look at the policies every ``interval_ms``; a round that fails is logged and tried again."""
        while not stop.wait(self.interval_ms / 1_000):
            try:
                self.look(stop)
            except SQLAlchemyError as error:
                log.error("no redrive policy is looked at: %s", line(error))  # noqa: TRY400 -- it tells it all
            except Exception:
                log.exception("the redrive policies could not be looked at")

    def look(self, stop: threading.Event) -> None:
        """Have one round: every policy that is due to be looked at.

        Kafka may keep it longer than whoever stops it waits: then nothing is stored any more.
        """
        now_ms = self.orders.now_ms()
        for policy in self.book.take(now_ms, now_ms + self.interval_ms):
            if stop.is_set():
                return
            latest = self.book.latest(policy.id)
            try:
                self._carry_out(policy, latest, now_ms, stop)
            except RequestError as error:
                if stop.is_set():
                    return
                failures = policy.failures + 1
                at_ms = self.orders.now_ms() + BACKOFF.delay_ms(failures, self.rng)
                self.book.rest(policy, str(error), failures, at_ms)
                log.warning("policy %s makes no order: %s", policy.id, error)

    def _carry_out(self, policy: Policy, latest: Latest | None, now_ms: int, stop: threading.Event) -> None:
        if rests(policy, latest):
            reason = FAILED.format(latest.id) if latest and latest.status is Status.FAILED else ""
            if reason and policy.status_reason != reason:
                self.book.rest(policy, reason, policy.failures, now_ms + self.interval_ms)
            return
        rules = self.rules()
        held, silent = backlog(Cluster(self.orders.connection), policy.request, rules)
        reason = "; ".join(map(str, silent))
        part = due(policy, held, self.most)
        if stop.is_set():
            return
        if part is not None:
            try:
                self._make(policy, part, rules, stop)
            except RequestError:
                if not stop.is_set():
                    self.book.end_turn(policy, part.topic)
                raise
        if not stop.is_set() and (reason or policy.status_reason):
            self.book.rest(policy, reason, 0, now_ms + self.interval_ms)

    def _make(self, policy: Policy, part: Due, rules: TargetRules, stop: threading.Event) -> None:
        by = f"policy {policy.id}"
        request = policy.request.order(part.topic)
        create = CreateOrder(request, by, "", lambda _: False, policy.id, part.extents)
        order, plan = self.orders.read(create, rules)
        if stop.is_set() or order.dlq_topic_id != part.topic_id:  # these are not its offsets
            return
        wanted = order if plan.selected > plan.left_out or plan.at_least else None
        made = self.book.carry_out(policy, part, wanted, plan.model_dump_json())
        if made is not None:
            log.info("policy %s: order %s about %s", policy.id, made.order.id, part.topic)
