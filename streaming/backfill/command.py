"""What ``deadwatch backfill`` and ``python -m streaming.backfill`` do: look, ask, count, put in place."""

import logging
import time
from collections.abc import Callable
from random import Random
from typing import Final

from sqlalchemy.exc import SQLAlchemyError

from collector import process
from jars import JarsError
from streaming import session
from streaming.backfill.rebuild import BackfillError, Rebuild
from streaming.backfill.span import Work, written
from streaming.dialects import read_as
from streaming.patience import PatientStore
from streaming.settings import StreamingSettings
from streaming.store.errors import StoreError
from streaming.store.trouble import line

DONE: Final = 0
NOT_DONE: Final = 1

logger = logging.getLogger(__name__)


def run(
    settings: StreamingSettings,
    since_ms: int,
    *,
    ask: Callable[[str], bool],
    told: Callable[[int, int], None],
) -> int:
    """The exit code; ``ask`` is asked before counts are forgotten, ``told`` offsets done and to do.

    Raises:
        BackfillError: it cannot be done; the text says why. The store is as it was.
    """
    read_as(settings.reading)
    stop = process.stop_on_signals()
    store = PatientStore(settings, stop, Random())
    try:
        with store:
            rebuild = Rebuild(settings, store, stop, _clock_ms, Random())
            work = rebuild.look(since_ms)
            logger.info("%s", described(work, since_ms))
            if work.forgotten and not ask(question(work, since_ms)):
                return NOT_DONE
            spark = session.start(settings)
            process.stop_on_signals(stop)  # Spark has taken SIGINT
            try:
                done = rebuild.run(spark, work, told)
            finally:
                spark.stop()
    except (StoreError, JarsError, session.SessionError) as error:
        raise BackfillError(str(error)) from error
    except SQLAlchemyError as error:
        raise BackfillError(line(error)) from error
    logger.info("%s", "the new counts are in place" if done else "stopped: nothing was changed")
    return DONE if done else NOT_DONE


def described(work: Work, since_ms: int) -> str:
    """What will be done, in a line."""
    how = "on top of what the store has counted" if work.on_top else f"anew, from {written(since_ms)}"
    return f"{work.records} offsets of {len({place[0] for place in work.plan.end})} topics are counted {how}"


def question(work: Work, since_ms: int) -> str:
    """What is lost, by topic."""
    topics = ", ".join(f"{topic} ({count})" for topic, count in sorted(work.forgotten.items()))
    return (
        f"Up to {sum(work.forgotten.values())} records were counted before {written(since_ms)}, or are in"
        f" Kafka no more, and will be forgotten: {topics}. Count anew without them?"
    )


def _clock_ms() -> int:
    return time.time_ns() // 1_000_000
