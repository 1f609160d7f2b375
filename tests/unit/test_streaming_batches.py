"""How large a batch is known to be before it is read."""

import json
from pathlib import Path
from typing import Any

import pytest

from collector.contract.topics import EVENTS
from streaming.aggregates.plain_pass import Few
from streaming.batches import LARGE_BATCH, Batches
from streaming.settings import StreamingSettings
from streaming.store.store import Store


def planned(directory: Path, batch_id: int, offsets: dict[str, Any]) -> None:
    (directory / "offsets").mkdir(parents=True, exist_ok=True)
    (directory / "offsets" / str(batch_id)).write_text("v1\n{}\n" + json.dumps(offsets))


def batches(tmp_path: Path) -> Batches:
    settings = StreamingSettings(
        store_url=f"sqlite:///{tmp_path / 'store.db'}", checkpoint=tmp_path / "checkpoint"
    )
    return Batches(settings, Store(settings.store_url), lambda: 1)


@pytest.mark.parametrize(("more", "few"), [(3, 13), (-10, 1), (LARGE_BATCH - 11, LARGE_BATCH - 1)])
def test_a_batch_of_a_few_records_is_as_large_as_it_was_planned(tmp_path: Path, more: int, few: int) -> None:
    planned(tmp_path / "checkpoint", 1, {EVENTS: {"0": 10, "1": 5}})
    planned(tmp_path / "checkpoint", 2, {EVENTS: {"0": 20, "1": 5}, "new": {"0": more}})
    assert batches(tmp_path)._few(2) == Few(few, has_letters=True)


def test_a_batch_without_letters_is_known_to_have_none(tmp_path: Path) -> None:
    planned(tmp_path / "checkpoint", 1, {EVENTS: {"0": 10}, "dlq": {"0": 3}})
    planned(tmp_path / "checkpoint", 2, {EVENTS: {"0": 12}, "dlq": {"0": 3}})
    assert batches(tmp_path)._few(2) == Few(2, has_letters=False)


def test_a_large_batch_or_one_without_a_plan_may_be_many(tmp_path: Path) -> None:
    planned(tmp_path / "checkpoint", 1, {EVENTS: {"0": 10}})
    planned(tmp_path / "checkpoint", 2, {EVENTS: {"0": 10 + LARGE_BATCH}})
    assert [batches(tmp_path)._few(number) for number in (2, 7)] == [None, None]
