"""How large a batch is known to be before it is read."""

import json
from pathlib import Path
from typing import Any

from collector.contract.topics import EVENTS
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


def test_a_batch_is_as_large_as_it_was_planned(tmp_path: Path) -> None:
    planned(tmp_path / "checkpoint", 1, {EVENTS: {"0": 10, "1": 5}})
    planned(tmp_path / "checkpoint", 2, {EVENTS: {"0": 20, "1": 5}, "new": {"0": 3}})
    assert batches(tmp_path)._planned(2) == (10, 3)


def test_without_a_plan_it_may_be_large(tmp_path: Path) -> None:
    assert batches(tmp_path)._planned(7) == (LARGE_BATCH, 0)
