"""When Spark's checkpoint is trusted, when it is put aside, and when it is refused."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from streaming import checkpoint

GOOD = {"metadata": '{"id":"q"}', "offsets/7": 'v1\n{"a":1}\n{"t":{"0":5}}\n-', "commits/7": 'v1\n{"b":2}'}


@dataclass(frozen=True)
class Case:
    name: str
    reason: str
    stored: Mapping[str, int] = field(default_factory=lambda: {"q": 7})
    files: Mapping[str, str] = field(default_factory=dict)


TRUSTED = [
    Case("both are at the same batch", ""),
    Case("the process ended between the two commits", "", {"q": 8}),
    Case("a batch was planned and not begun", "", files={"offsets/8": GOOD["offsets/7"]}),
    Case("a checksum beside the newest batch", "", files={"commits/.8.crc": "x"}),
]
ASIDE = [
    Case("the store lost its last seconds", "finished batch 7, the store's last one is 6", {"q": 6}),
    Case("the store is new", "the store's last one is -1: the store was restored", {}),
    Case(
        "of one source",
        "whose query read 1 sources, not 2",
        files={"offsets/8": 'v1\n{"a":1}\n{"t":{"0":5}}'},
    ),
    Case("the store was rebuilt", "the store's last one is -1: the store was restored", {"backfill": 9}),
]
REFUSED = [
    Case("the checkpoint is an old copy", "the store's last one is 9: it is an old copy", {"q": 9}),
    Case("no metadata", "its metadata cannot be read", files={"metadata": ""}),
    Case("metadata of something else", "its metadata cannot be read", files={"metadata": "[]"}),
    Case("a torn offset", "the newest batch of offsets cannot", files={"offsets/8": 'v1\n{"a"'}),
    Case("an empty commit", "the newest batch of commits cannot be read", {"q": 8}, {"commits/8": ""}),
    Case("another Spark", "format 'v9', this program writes v1", {"q": 8}, {"commits/8": "v9\n{}"}),
]


def made(tmp_path: Path, case: Case) -> Path:
    directory = tmp_path / "checkpoint"
    for name, text in {**GOOD, **case.files}.items():
        file = directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return directory


@pytest.mark.parametrize("case", TRUSTED, ids=lambda case: case.name)
def test_a_checkpoint_that_agrees_with_the_store_stays(case: Case, tmp_path: Path) -> None:
    directory = made(tmp_path, case)
    assert checkpoint.settle(directory, case.stored) is None
    assert json.loads((directory / "metadata").read_text()) == {"id": "q"}


@pytest.mark.parametrize("case", ASIDE, ids=lambda case: case.name)
def test_a_checkpoint_that_the_store_does_not_know_is_put_aside_and_kept(
    case: Case, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    directory = made(tmp_path, case)
    aside = checkpoint.settle(directory, case.stored)
    assert aside == tmp_path / "checkpoint.aside-1"
    assert (aside / "metadata").exists()
    assert not directory.exists()
    assert case.reason in caplog.text
    assert "goes on from the offsets in the store" in caplog.text


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_a_checkpoint_that_cannot_be_used_is_refused_and_stays(case: Case, tmp_path: Path) -> None:
    directory = made(tmp_path, case)
    with pytest.raises(checkpoint.CheckpointError, match=re.escape(case.reason)):
        checkpoint.settle(directory, case.stored)
    assert directory.exists()


def test_a_query_that_ended_before_its_first_batch_begins_at_the_stores_offsets(tmp_path: Path) -> None:
    directory = made(tmp_path, TRUSTED[0])
    (directory / "commits" / "7").unlink()
    assert checkpoint.settle(directory, {}) == tmp_path / "checkpoint.aside-1"


def test_a_directory_that_spark_has_only_made_is_no_damage(tmp_path: Path) -> None:
    directory = tmp_path / "checkpoint"
    (directory / "offsets").mkdir(parents=True)
    assert checkpoint.settle(directory, {"q": 7}) == tmp_path / "checkpoint.aside-1"


def test_what_can_be_read_is_usable(tmp_path: Path) -> None:
    assert checkpoint.is_usable(tmp_path / "none")
    assert checkpoint.is_usable(made(tmp_path, TRUSTED[0]))
    assert not checkpoint.is_usable(made(tmp_path, REFUSED[1]))


def test_no_checkpoint_is_nothing_to_settle(tmp_path: Path) -> None:
    assert checkpoint.settle(tmp_path / "none", {"q": 7}) is None
    assert checkpoint.settle(tmp_path, {"q": 7}) is None


def test_what_was_put_aside_before_is_kept(tmp_path: Path) -> None:
    for number in (1, 2):
        assert checkpoint.settle(made(tmp_path, ASIDE[1]), {}) == tmp_path / f"checkpoint.aside-{number}"
