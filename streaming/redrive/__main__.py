"""``python -m streaming.redrive``: a worker for redrive orders, until SIGTERM or SIGINT.

The store is opened as streaming opens it; while it is away, the worker waits for it. A signal lets the
transaction that has begun come to its end.
"""

import logging
import os
import socket
import sys
import threading
import uuid
from random import Random
from typing import Final

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from collector import process
from collector.contract.backoff import Backoff
from collector.health import Health
from streaming.dialects import read_as
from streaming.filter import Filter
from streaming.heartbeat import REDRIVE, Heartbeat
from streaming.memory import leave_records_alone
from streaming.patience import patiently
from streaming.redrive import bulk
from streaming.redrive.clock import clock_ms, monotonic_ms, wait_ms
from streaming.redrive.creation import Door
from streaming.redrive.history import History
from streaming.redrive.policy_round import Rounds
from streaming.redrive.scan import Bounds
from streaming.redrive.settings import RedriveSettings
from streaming.redrive.targets import TargetRules
from streaming.redrive.telemetry import telemetry_of
from streaming.redrive.work import House
from streaming.redrive.worker import run
from streaming.store.dlq_names import named_topics
from streaming.store.engine import connect
from streaming.store.errors import StoreError
from streaming.store.handled import HandledBook
from streaming.store.order_claims import OrderClaims
from streaming.store.policies import PolicyBook
from streaming.store.returns import Watch
from streaming.store.store import Store
from streaming.store.trouble import line

UNNAMED: Final = "this worker has no name: it is forgotten when it stops, or an hour after it was killed"
FORGOTTEN_AFTER_MS: Final = 3_600_000
SCAN_TIMEOUT_MS: Final = 8_000
"""How long a policy's selection is read through before its order is made."""

logger = logging.getLogger("streaming.redrive")


def rounds(settings: RedriveSettings, engine: Engine) -> Rounds:
    """What looks at the policies; nobody has to confirm an order of at most ``policies_max_records``."""

    def rules() -> TargetRules:
        with engine.begin() as connection:
            named = named_topics(connection)
        return TargetRules({}, settings.targets_allow, settings.dlq_topics, settings.dlq_topics_deny, named)

    most = settings.policies_max_records
    door = Door(
        connection=settings.kafka,
        bounds=Bounds(most, SCAN_TIMEOUT_MS),
        max_unconfirmed=most,
        now_ms=clock_ms,
        monotonic_ms=monotonic_ms,
        new_id=lambda: str(uuid.uuid4()),
        history=History(HandledBook(engine), settings.events_topic, monotonic_ms, wait_ms),
    )
    return Rounds(PolicyBook(engine), door, rules, settings.policies_interval_ms, most, Random())


def main() -> None:
    """Work until a signal asks for the end; exit code 0 then."""
    settings = process.begin(RedriveSettings, "Moves the records of redrive orders.")
    read_as(settings.reading)
    stop = process.stop_on_signals()
    store = Store(settings.store_url)
    backoff = Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms)
    try:
        with Health(settings.health, settings.section) as health:
            patiently(store.open, "the worker", backoff, stop, Random(), beat=health.beat)
            work(settings, store, stop, health)
    except StoreError as error:
        logger.error("%s", error)  # noqa: TRY400 -- one line: the traceback says nothing to an operator
        sys.exit(process.REFUSED)
    except SQLAlchemyError as error:
        logger.error("%s", line(error))  # noqa: TRY400 -- asked to stop while the store was away
        sys.exit(process.REFUSED)
    finally:
        store.close()


def work(settings: RedriveSettings, store: Store, stop: threading.Event, health: Health) -> None:
    """Take orders with a heartbeat, on an open store."""
    name = settings.name or f"{socket.gethostname()}-{os.getpid()}"
    logger.info("worker %s moves records on %s", name, settings.kafka.bootstrap_servers)
    leave_records_alone()
    engine = connect(settings.store_url)
    heartbeat = Heartbeat(store, settings.heartbeat_interval_ms, clock_ms, health.work_done)
    source = f"{REDRIVE}:{name}"
    store.forget_sources(UNNAMED, clock_ms() - FORGOTTEN_AFTER_MS)
    heartbeat.say(source, kind=REDRIVE, up=True, message="" if settings.name else UNNAMED, works=True)
    looking = threading.Thread(
        target=rounds(settings, engine).run, args=(stop,), name="policies", daemon=True
    )
    looking.start()
    telemetry = telemetry_of(settings.otel_endpoint, name, os.environ)
    try:
        house = House(
            settings=settings,
            compile_filter=Filter,
            watch=Watch(engine),
            clock=clock_ms,
            rng=Random(),
            beat=health.beat,
            telemetry=telemetry,
            handled=HandledBook(engine).before,
        )
        run(OrderClaims(engine), house, stop, name, bulk.Engine(settings).work)
        if settings.name:
            heartbeat.say(source, kind=REDRIVE, up=False, message="stopped")
    finally:
        stop.set()
        looking.join(settings.shutdown_graceful_timeout_ms / 1_000)  # it may wait for a Kafka that is away
        heartbeat.close()
        telemetry.close(settings.shutdown_graceful_timeout_ms)
        if not settings.name:
            store.forget_sources(UNNAMED, clock_ms(), source)
        engine.dispose()
    logger.info("stopped")


if __name__ == "__main__":
    main()
