"""Dialects of a user's own: as settings, and what is refused of them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from api.settings import ApiSettings
from deadwatch.deadletter.dialects import DIALECTS, Reading, reading
from deadwatch.deadletter.record import DeadLetter, parse_record
from deadwatch.deadletter.settings import DeadLetterSettings
from deadwatch.runtime.process import SettingsError
from deadwatch.runtime.settings_file import load
from redrive.settings import RedriveSettings
from streaming.settings import StreamingSettings
from tests.hostile_headers import reading_as
from tests.tables import named

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


Loaded = Callable[..., DeadLetterSettings]


@pytest.fixture
def loaded(tmp_path: Path) -> Loaded:
    """The settings of a process, streaming unless it is named, from a file with this text."""

    def read(text: str, settings: type[DeadLetterSettings] = StreamingSettings) -> DeadLetterSettings:
        file = tmp_path / "deadwatch.yaml"
        file.write_text(text)
        return load(settings, file)

    return read


@pytest.mark.parametrize("settings", [StreamingSettings, RedriveSettings, ApiSettings])
def test_every_process_that_reads_records_reads_them_alike(
    settings: type[DeadLetterSettings], loaded: Loaded
) -> None:
    with reading_as(loaded(FILE, settings).reading):
        record = parse_record("dlq.orders", 0, 0, 0, None, None, HEADERS)
        found = (record.dialect, record.source_topic, record.source_offset, record.error_class)
        assert found == ("orders-service", "orders", 42, "org.example.Late")
        assert reading().first_counts


def test_unless_set_the_built_in_dialects_are_read_and_the_last_header_counts() -> None:
    assert StreamingSettings().reading == Reading(DIALECTS, first_counts=False)


RICH = r"""
dialects:
  - name: billing
    source_topic: [x-topic, x-from]
    source_offset: original_offset
    error_class: [x-cause, x-exception]
    constants: {consumergroup: 'a\b', message: failed}
    derived: {source_topic: {topic: '(.*)-dlq', value: '\1'}}
    drop_headers: [x-attempts, y-*]
  - name: spring
    instead_of: [spring]
    error_class: kafka_dlt-exception-fqcn
    wrappers: [a.Wrapper]
    stacktrace: kafka_dlt-exception-stacktrace
"""


def test_a_dialect_has_fallbacks_constants_and_what_the_topics_name_says(loaded: Loaded) -> None:
    rich = loaded(RICH).reading

    def parsed(*headers: tuple[str, bytes]) -> DeadLetter:
        with reading_as(rich):
            return parse_record("orders-dlq", 0, 0, 0, None, None, headers)

    bare = parsed(("x-exception", b"a.Late"))
    assert (bare.dialect, bare.error_class) == ("billing", "a.Late")
    assert (bare.source_topic, bare.consumergroup, bare.message) == ("orders", r"a\b", "failed")
    full = parsed(("x-cause", b"a.Why"), ("x-exception", b"a.Late"), ("x-from", b"bills"))
    assert (full.error_class, full.source_topic) == ("a.Why", "bills")
    own = parsed(
        ("kafka_dlt-exception-fqcn", b"a.Wrapper"),
        ("kafka_dlt-exception-stacktrace", b"a.Wrapper\nCaused by: a.Why: so\n\tat x"),
    )
    assert (own.dialect, own.error_class, own.message) == ("spring", "a.Why", "so")
    assert parsed(("kafka_original-topic", b"orders")).dialect == "unknown"


def test_a_dialect_without_prefix_gives_way_to_one_that_has_its_headers(loaded: Loaded) -> None:
    names = {dialect.name for dialect in loaded(FILE).reading.dialects}
    assert names == {dialect.name for dialect in DIALECTS} - {"spring_cloud_stream"} | {"orders-service"}
    arroyo = loaded("dialects: [{name: arroyo, source_offset: original_offset}]")
    first, *others = arroyo.reading.dialects
    assert first.headers == ("original_offset",)
    assert len(others) == len(DIALECTS) - 1


A: dict[str, Any] = {"name": "a", "message": "x"}


def derived(topic: str, value: str = "x", text: str = "source_topic") -> dict[str, Any]:
    return {**A, "derived": {text: {"topic": topic, "value": value}}}


REFUSED: list[tuple[str, list[dict[str, Any]], str]] = [
    ("the name of a built in one", [{**A, "name": "connect"}], "connect is the name of a"),
    ("no header", [{"name": "mine"}], "no header is named"),
    ("a header without a name", [{"name": "mine", "message": ""}], "no header is named"),
    ("a built in header", [{**A, "message": "__connect.errors.mine"}], "is a header of the dialect connect"),
    ("a name twice", [A, {**A, "message": "y"}], "a is in several"),
    ("a header twice", [A, {**A, "name": "b"}], "x is in several"),
    (
        "the name of a built in one that is not replaced",
        [{**A, "name": "spring", "instead_of": ["connect"]}],
        "spring is the name of a",
    ),
    (
        "instead of one that is not built in",
        [{**A, "instead_of": ["camel"]}],
        "camel is no dialect that is built in: those are arroyo, connect",
    ),
    ("a constant number", [{**A, "constants": {"source_offset": "1"}}], "no text of"),
    (
        "a constant that is derived",
        [{**derived(".*", text="message"), "constants": {"message": "1"}}],
        "message is a constant and derived",
    ),
    ("a broken expression", [derived("(")], "is not a regular expression"),
    ("a group that the expression does not have", [derived("(.*)-dlq", r"\2")], "cannot be made of"),
    ("a star inside", [{**A, "drop_headers": ["x-*-y"]}], "String should match"),
    ("a field that is none", [{"name": "a", "topic": "x"}], "Extra inputs"),
    ("a name no label should have", [{**A, "name": "My Own"}], "String should match"),
]


@pytest.mark.parametrize(("dialects", "why"), named(REFUSED))
def test_a_dialect_that_cannot_be_told_is_refused(
    dialects: list[dict[str, Any]], why: str, loaded: Loaded
) -> None:
    with pytest.raises(SettingsError, match=why):
        loaded(json.dumps({"dialects": dialects}))
