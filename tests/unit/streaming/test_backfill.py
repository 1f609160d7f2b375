"""What a signal does while the backfill waits for an answer."""

import logging
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from streaming import backfill
from streaming.rebuild import Rebuild
from streaming.rebuild_plan import Plan, Work
from streaming.settings import StreamingSettings

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
