"""How large a batch is known to be before it is read."""

import json
from pathlib import Path
from typing import Any

import pytest

from collector.contract.topics import EVENTS
from streaming.aggregates.plain_pass import LARGE_BATCH, Planned
from streaming.batches import Batches
from streaming.settings import StreamingSettings
from streaming.store.store import Store


def plan(directory: Path, batch_id: int, offsets: dict[str, Any]) -> None:
    (directory / "offsets").mkdir(parents=True, exist_ok=True)
    (directory / "offsets" / str(batch_id)).write_text("v1\n{}\n" + json.dumps(offsets))


def batches(tmp_path: Path) -> Batches:
    settings = StreamingSettings(
        store_url=f"sqlite:///{tmp_path / 'store.db'}", checkpoint=tmp_path / "checkpoint"
    )
    return Batches(settings, Store(settings.store_url), lambda: 1)


@pytest.mark.parametrize(
    ("letters", "is_small", "has_few_letters"),
    [
        (3, True, True),
        (LARGE_BATCH - 11, True, True),
        (LARGE_BATCH - 10, False, True),
        (LARGE_BATCH, False, False),
    ],
)
def test_a_batch_is_as_large_as_it_was_planned(
    tmp_path: Path, letters: int, is_small: bool, has_few_letters: bool
) -> None:
    plan(tmp_path / "checkpoint", 1, {EVENTS: {"0": 10, "1": 5}})
    plan(tmp_path / "checkpoint", 2, {EVENTS: {"0": 20, "1": 5}, "new": {"0": letters}})
    planned = batches(tmp_path)._planned(2)
    assert planned == Planned(10 + letters, letters)
    assert (planned.is_small, planned.has_few_letters) == (is_small, has_few_letters)


def test_a_batch_without_letters_is_known_to_have_none(tmp_path: Path) -> None:
    plan(tmp_path / "checkpoint", 1, {EVENTS: {"0": 10}, "dlq": {"0": 3}})
    plan(tmp_path / "checkpoint", 2, {EVENTS: {"0": 12}, "dlq": {"0": 3}})
    assert batches(tmp_path)._planned(2) == Planned(2, 0)


def test_a_topic_that_begins_anew_brings_nothing(tmp_path: Path) -> None:
    plan(tmp_path / "checkpoint", 1, {EVENTS: {"0": 10}, "dlq": {"0": 30}})
    plan(tmp_path / "checkpoint", 2, {EVENTS: {"0": 12}, "dlq": {"0": 3}})
    assert batches(tmp_path)._planned(2) == Planned(2, 0)


def test_of_a_batch_without_a_plan_nothing_is_known(tmp_path: Path) -> None:
    plan(tmp_path / "checkpoint", 1, {EVENTS: {"0": 10}})
    assert batches(tmp_path)._planned(7) is None
