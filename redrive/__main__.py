"""``python -m redrive``: a worker for redrive orders, until a signal asks for the end.

It waits for a store that is away. A signal leaves the transaction that has begun
``shutdown_graceful_timeout_ms`` to come to its end; then it is Kafka's, and undone by the next worker.
"""

import logging
import os
import socket
import sys
import threading
import uuid
from dataclasses import replace
from functools import partial
from random import Random
from typing import Final

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from deadwatch.contract.backoff import Backoff
from deadwatch.deadletter.dialects import read_as
from deadwatch.orders.errors import KafkaUnavailableError
from deadwatch.orders.targets import TargetRules
from deadwatch.runtime import process
from deadwatch.runtime.clock import clock_ms, monotonic_ms, wait_ms
from deadwatch.runtime.health import Health
from deadwatch.runtime.otel import providers_of
from deadwatch.runtime.process import leave_records_alone
from deadwatch.runtime.settings_file import begin
from deadwatch.store.engine import connect
from deadwatch.store.errors import StoreError
from deadwatch.store.heartbeat import REDRIVE, Heartbeat
from deadwatch.store.store import Store
from deadwatch.store.trouble import is_passing, line, retry_while_away
from deadwatch.store.write.handled import HandledBook
from deadwatch.store.write.order_claims import OrderClaims
from deadwatch.store.write.policies import PolicyBook
from redrive.cluster import Cluster
from redrive.move.task import WorkerContext, topics_named_in
from redrive.plan.creation import Bounds, OrderService
from redrive.plan.history import History, Notes
from redrive.plan.policy_round import PolicyRounds
from redrive.settings import RedriveSettings
from redrive.spark import work_in_executors
from redrive.telemetry import Telemetry
from redrive.worker import run

UNNAMED: Final = "this worker has no name: it is forgotten when it stops, or an hour after it was killed"
FORGOTTEN_AFTER_MS: Final = 3_600_000
SCAN_TIMEOUT_MS: Final = 8_000
"""How long the selection of a policy is read before its order is made."""
NOTE_TIMEOUT_S: Final = 2.0
"""A worker that is to stop while Kafka is away is not held up for longer."""

log = logging.getLogger("redrive")


def policy_rounds(settings: RedriveSettings, engine: Engine) -> PolicyRounds:
    """Makes the orders of policies; one of at most ``policies_max_records`` needs no confirmation."""

    def rules() -> TargetRules:
        return settings.target_rules(topics_named_in(engine))

    most = settings.policies_max_records
    history = History(HandledBook(engine), settings.events_topic, monotonic_ms, wait_ms)
    bounds, new_id = Bounds(most, SCAN_TIMEOUT_MS), lambda: str(uuid.uuid4())
    orders = OrderService(settings.kafka, bounds, most, clock_ms, monotonic_ms, new_id, history)
    return PolicyRounds(PolicyBook(engine), orders, rules, settings.policies_interval_ms, most, Random())


def main() -> None:
    """Work until a signal asks for the end, with exit code 0."""
    settings = begin(RedriveSettings, "Moves the records of redrive orders.")
    read_as(settings.reading)
    stop = process.stop_on_signals()
    store = Store(settings.store_url)
    backoff = Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms)
    try:
        cluster = Cluster(settings.kafka, NOTE_TIMEOUT_S)
        with Health(settings.health, settings.section) as health:
            retry_while_away(partial(opened, store), "the worker", backoff, stop, Random(), beat=health.beat)
            work(settings, store, cluster, stop, health)
    except (KafkaUnavailableError, StoreError) as error:
        log.error("%s", error)  # noqa: TRY400 -- one line: the traceback says nothing to an operator
        sys.exit(process.REFUSED)
    except SQLAlchemyError as error:
        log.error("%s", line(error))  # noqa: TRY400 -- as above
        sys.exit(process.AGAIN if is_passing(error) else process.REFUSED)
    finally:
        store.close()


def opened(store: Store) -> None:
    """Make the store ready, and forget the workers without a name that were killed long ago."""
    store.open()
    store.forget_sources(UNNAMED, clock_ms() - FORGOTTEN_AFTER_MS)


def work(
    settings: RedriveSettings, store: Store, cluster: Cluster, stop: threading.Event, health: Health
) -> None:
    """Work on orders and look at the policies, with a heartbeat, on an open store."""
    name = settings.name or f"{socket.gethostname()}-{os.getpid()}"
    log.info("worker %s moves records on %s", name, settings.kafka.bootstrap_servers)
    leave_records_alone()
    engine = connect(settings.store_url)
    heartbeat = Heartbeat(store, settings.heartbeat_interval_ms, clock_ms, health.work_done)
    source = f"{REDRIVE}:{name}"
    heartbeat.say(source, kind=REDRIVE, up=True, message="" if settings.name else UNNAMED, works=True)
    rounds = policy_rounds(settings, engine)
    policies = threading.Thread(target=rounds.run, args=(stop,), name="policies", daemon=True)
    policies.start()
    telemetry = Telemetry(providers_of("redrive", name, settings.otel_endpoint, os.environ))
    try:
        notes = Notes(HandledBook(engine), settings.events_topic, cluster)
        context = WorkerContext.of_store(settings, engine, telemetry)
        context = replace(context, beat=health.beat, note=notes.note)
        run(OrderClaims(engine), context, stop, name, partial(work_in_executors, settings, beat=health.beat))
        if settings.name:
            heartbeat.say(source, kind=REDRIVE, up=False, message="stopped")
    finally:
        stop.set()
        policies.join(settings.shutdown_graceful_timeout_ms / 1_000)  # it may wait for a Kafka that is away
        heartbeat.close()
        telemetry.close(settings.shutdown_graceful_timeout_ms)
        if not settings.name:
            store.forget_sources(UNNAMED, clock_ms(), source)
        engine.dispose()
    log.info("stopped")


if __name__ == "__main__":
    main()
