"""``deadwatch backfill`` and ``python -m streaming.backfill --from TIME``: the store counted anew from Kafka.

The counts go into a store beside the live one (``streaming.rebuild``), whose counts they then replace at
once. The exit code is 0 when that was done, 1 when nothing was changed, 2 when it cannot be done.
"""

import argparse
import logging
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

from sqlalchemy.exc import SQLAlchemyError

from deadwatch.deadletter.dialects import read_as
from deadwatch.runtime import process
from deadwatch.runtime.clock import clock_ms
from deadwatch.runtime.process import SettingsError
from deadwatch.runtime.settings_file import load
from deadwatch.store.errors import StoreError
from deadwatch.store.trouble import line
from jars import JarsError
from streaming import session
from streaming.rebuild import BackfillError, Rebuild
from streaming.rebuild_plan import Work
from streaming.settings import StreamingSettings
from streaming.store import RetryingStore

DONE: Final = 0
NOT_DONE: Final = 1
BEGINNING: Final = "beginning"
"""The word in place of a time for everything that Kafka has."""

log = logging.getLogger("streaming.backfill")


def main() -> None:
    """Run the backfill that the arguments ask for."""
    parser = argparse.ArgumentParser(
        prog="python -m streaming.backfill", description="Counts the store anew from Kafka."
    )
    parser.add_argument("--from", dest="since", required=True, metavar="TIME", help="RFC 3339, or beginning")
    parser.add_argument("--yes", action="store_true", help="forget what Kafka has no more")
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings as YAML (deadwatch.yaml)")
    arguments = parser.parse_args()
    process.configure_logging("backfill")
    try:
        settings = load(StreamingSettings, arguments.config)
        since_ms = since_ms_of(arguments.since)
        report = partial(log.info, "%d of %d offsets")
        sys.exit(run(settings, since_ms, ask=partial(_confirm, arguments.yes), progress=report))
    except (SettingsError, BackfillError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(process.REFUSED)


def _confirm(yes: bool, text: str) -> bool:
    log.warning("%s %s", text, "--yes" if yes else "Say --yes.")
    return yes


def run(
    settings: StreamingSettings,
    since_ms: int,
    *,
    ask: Callable[[str], bool],
    progress: Callable[[int, int], None],
) -> int:
    """The exit code. ``ask`` is called before counts are forgotten, ``progress`` with offsets done and to do.

    Raises:
        BackfillError: it cannot be done; the text says why. The store is as it was.
    """
    read_as(settings.reading)
    stop = process.stop_on_signals()
    store = RetryingStore(settings, stop, Random())
    try:
        with store:
            rebuild = Rebuild(settings, store, stop, clock_ms, Random())
            work = rebuild.plan(since_ms)
            log.info("%s", described(work, since_ms))
            if work.forgotten:
                with process.interruptible():  # a signal ends the wait for the answer
                    process.interrupt_if(stop)
                    if not ask(question(work, since_ms)):
                        return NOT_DONE
            with session.starting(stop):
                spark = session.start(settings)
            try:
                done = rebuild.run(spark, work, progress)
            finally:
                session.end(spark)
    except process.Interrupted:
        done = False
    except (StoreError, JarsError, session.SessionError) as error:
        raise BackfillError(str(error)) from error
    except SQLAlchemyError as error:
        raise BackfillError(line(error)) from error
    log.info("%s", "the new counts are in place" if done else "stopped: nothing was changed")
    return DONE if done else NOT_DONE


def described(work: Work, since_ms: int) -> str:
    """What the backfill does, in one line."""
    how = "on top of what the store has counted" if work.on_top else f"anew, from {written(since_ms)}"
    topics = {topic for topic, _ in work.plan.end}
    return f"{work.plan.records} offsets of {len(topics)} topics are counted {how}"


def question(work: Work, since_ms: int) -> str:
    """Which counts are lost, by topic, and whether to go on."""
    topics = ", ".join(f"{topic} ({count})" for topic, count in sorted(work.forgotten.items()))
    return (
        f"Up to {sum(work.forgotten.values())} records were counted before {written(since_ms)}, or are in"
        f" Kafka no more, and will be forgotten: {topics}. Count anew without them?"
    )


def since_ms_of(text: str) -> int:
    """Milliseconds since the epoch of RFC 3339 text with a zone; 0 for ``beginning``.

    Raises:
        ValueError: it is neither.
    """
    if text == BEGINNING:
        return 0
    with suppress(ValueError):
        time = datetime.fromisoformat(text)
        if time.tzinfo:
            return max(0, round(time.timestamp() * 1_000))
    raise ValueError(f"{text!r} is no time with its zone (2026-11-21T08:00:00Z), nor {BEGINNING!r}")


def written(time_ms: int) -> str:
    """The time as ``since_ms_of`` reads it."""
    text = datetime.fromtimestamp(time_ms / 1_000, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z") if time_ms else BEGINNING


if __name__ == "__main__":
    main()
