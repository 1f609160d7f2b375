"""Dialects of a user's own: as settings, and what is refused of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from api.settings import ApiSettings
from collector.settings_file import ProcessSettings, SettingsError, load
from streaming.dialects import DIALECTS, Reading, read_as, reading
from streaming.letter import letter_of
from streaming.letter_settings import LetterSettings
from streaming.redrive.settings import RedriveSettings
from streaming.settings import StreamingSettings

FILE = """
dialects:
  - name: orders-service
    source_topic: x-original-topic
    source_partition: x-original-partition
    source_offset: x-original-offset
    consumergroup: x-consumer
    error_class: x-exception
    message: x-exception-message
first_header_counts: true
"""
HEADERS = [
    ("x-original-topic", b"orders"),
    ("x-original-topic", b"orders.retry"),
    ("x-original-offset", b"42"),
    ("x-exception", b"org.example.Late"),
]


@pytest.fixture
def _as_before() -> Iterator[None]:
    yield
    read_as(Reading())


@pytest.mark.parametrize("settings", [StreamingSettings, RedriveSettings, ApiSettings])
@pytest.mark.usefixtures("_as_before")
def test_every_process_that_reads_letters_reads_them_alike(
    settings: type[LetterSettings], tmp_path: Path
) -> None:
    file = tmp_path / "deadwatch.yaml"
    file.write_text(FILE)
    read_as(load(settings, file).reading)
    letter = letter_of("dlq.orders", 0, 0, 0, None, None, HEADERS)
    assert (letter.dialect, letter.source_topic, letter.source_offset, letter.error_class) == (
        "orders-service",
        "orders",
        42,
        "org.example.Late",
    )
    assert reading().first_counts


def test_unless_set_the_built_in_dialects_are_read_and_the_last_header_counts() -> None:
    assert StreamingSettings().reading == Reading(DIALECTS, first_counts=False)


@dataclass(frozen=True)
class Refused:
    name: str
    dialects: list[dict[str, Any]]
    why: str


REFUSED = [
    Refused("the name of a built in one", [{"name": "connect", "message": "m"}], "connect is the name of a"),
    Refused("no header", [{"name": "mine"}], "no header is named"),
    Refused(
        "a header of a built in one",
        [{"name": "mine", "message": "__connect.errors.mine"}],
        "is a header of the dialect connect",
    ),
    Refused(
        "a name twice", [{"name": "a", "message": "x"}, {"name": "a", "message": "y"}], "a is in several"
    ),
    Refused(
        "a header twice", [{"name": "a", "message": "x"}, {"name": "b", "message": "x"}], "x is in several"
    ),
    Refused("a field that is none", [{"name": "a", "topic": "x"}], "Extra inputs"),
    Refused("a name no label should have", [{"name": "My Own", "message": "x"}], "String should match"),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_a_dialect_that_cannot_be_told_is_refused(case: Refused, tmp_path: Path) -> None:
    file = tmp_path / "deadwatch.yaml"
    file.write_text(f"dialects: {case.dialects!r}")
    settings: type[ProcessSettings] = StreamingSettings
    with pytest.raises(SettingsError, match=case.why):
        load(settings, file)
