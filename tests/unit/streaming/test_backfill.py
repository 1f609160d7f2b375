"""What a signal does to a backfill: while it waits for an answer, and when it ends the JVM as well."""

import logging
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]  # ships no types

from deadwatch.runtime.clock import clock_ms
from streaming import backfill, session
from streaming.rebuild import BackfillError, Rebuild
from streaming.rebuild_plan import Plan, Work
from streaming.settings import StreamingSettings
from streaming.store import RetryingStore

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    """The handlers of this process are as they were, after the test."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_the_wait_for_an_answer_and_nothing_is_changed(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked = list[str]()

    def ask(text: str) -> bool:
        asked.append(text)
        signal.raise_signal(number)
        asked.append("still waiting")
        return True

    work = Work(Plan({}, {}), on_top=False, ids={}, forgotten={"dlq.t": 3}, unread={})
    monkeypatch.setattr(Rebuild, "plan", lambda *_: work)
    settings = StreamingSettings(store_url=f"sqlite:///{tmp_path / 'deadwatch.db'}")
    caplog.set_level(logging.INFO)
    assert backfill.run(settings, 0, ask=ask, progress=lambda *_: None) == backfill.NOT_DONE
    assert asked == [backfill.question(work, 0)]
    assert "stopped: nothing was changed" in caplog.text


class DeadSpark:
    """A session whose JVM has ended."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def stop(self) -> None:
        raise self.error


GONE = [Py4JNetworkError("Answer from Java side is empty"), ConnectionRefusedError(111, "Connection refused")]


@pytest.mark.parametrize("error", GONE, ids=lambda error: type(error).__name__)
def test_a_signal_that_ends_the_jvm_too_ends_the_backfill_without_an_error(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def interrupted(*_: object) -> bool:
        signal.raise_signal(signal.SIGHUP)
        return False

    work = Work(Plan({}, {}), on_top=False, ids={}, forgotten={}, unread={})
    monkeypatch.setattr(Rebuild, "plan", lambda *_: work)
    monkeypatch.setattr(Rebuild, "run", interrupted)
    monkeypatch.setattr(session, "start", lambda _: DeadSpark(error))
    settings = StreamingSettings(store_url=f"sqlite:///{tmp_path / 'deadwatch.db'}")
    caplog.set_level(logging.INFO)
    code = backfill.run(settings, 0, ask=lambda _: True, progress=lambda *_: None)
    assert code == backfill.NOT_DONE
    assert "stopped: nothing was changed" in caplog.text


@pytest.mark.parametrize("error", GONE, ids=lambda error: type(error).__name__)
def test_a_jvm_that_is_gone_is_one_line_and_nothing_when_a_stop_was_asked_for(
    error: Exception, tmp_path: Path
) -> None:
    stop, stopped_by_call = threading.Event(), [False, True]

    def count() -> None:
        if stopped_by_call.pop(0):
            stop.set()
        raise error

    settings = StreamingSettings(store_url=f"sqlite:///{tmp_path / 'deadwatch.db'}")
    with RetryingStore(settings, stop, Random()) as store:
        rebuild = Rebuild(settings, store, stop, clock_ms, Random())
        with pytest.raises(BackfillError, match=r"Java side is empty|Connection refused"):
            rebuild._retry(count)
        rebuild._retry(count)
