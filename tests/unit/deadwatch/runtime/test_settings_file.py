"""Settings come from variables and one file, and are refused in one line."""

from pathlib import Path

import pytest

from collector.settings import CollectorSettings
from deadwatch.runtime.process import SettingsError
from deadwatch.runtime.settings_file import load
from tests.tables import named


def written(directory: Path, text: str) -> Path:
    file = directory / "deadwatch.yaml"
    file.write_text(text)
    return file


def test_the_environment_stands_above_the_section_and_that_above_the_shared_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = "kafka: {bootstrap_servers: 'k:9092'}\nkafka_cluster: shared\nstore_url: sqlite:///x.db\n"
    file = written(tmp_path, shared + "collector: {name: from-file, kafka_cluster: own}\n")
    settings = load(CollectorSettings, file)
    assert (settings.kafka.bootstrap_servers, settings.kafka_cluster) == ("k:9092", "own")
    monkeypatch.setenv("COLLECTOR_KAFKA__BOOTSTRAP_SERVERS", "env:1")
    settings = load(CollectorSettings, file)
    assert (settings.name, settings.kafka.bootstrap_servers) == ("from-file", "env:1")


def test_an_empty_file_or_section_means_defaults(tmp_path: Path) -> None:
    for text in ("", "collector:"):
        assert load(CollectorSettings, written(tmp_path, text)) == load(CollectorSettings)


BAD_FILES = [
    ("an unknown shared key", "kafak: {}", "unknown key 'kafak' at the top level; known: api"),
    ("unknown keys that YAML makes no texts of", "on: 1\n2: 3", "unknown key '2' at the top level"),
    ("a setting that YAML makes no text of", "collector: {1: x}", r"1: Extra inputs .*COLLECTOR_1\)"),
    ("an unknown setting", "collector: {nmae: x}", "nmae: Extra inputs .*COLLECTOR_NMAE"),
    ("a section that is a list", "collector: [1]", "section collector must be a mapping"),
    ("a section that is switched off", "collector: false", "section collector must be a mapping"),
    ("no mapping", "- 1", "must be a mapping"),
    ("no YAML", "a:\n  b: }", r"is not YAML \(line 2, column 6\): a quote"),
    ("a section twice", "api: {}\ncollector: {}\napi: {}", ".yaml: line 3: api stands twice"),
    ("what looks like a date", "kafka_cluster: 2026-13-45", "looks like a date has no quotes"),
    ("a value without end", f"collector: {'[' * 500}{']' * 500}", "deeper than any setting"),
    ("an impossible delivery timeout", "collector: {delivery_timeout_ms: 1}", "KIP-91"),
    ("an unknown placeholder", "collector: {connect: [{url: 'http://c', jolokia_url: '{x}'}]}", "not {x}"),
]


@pytest.mark.parametrize(("text", "match"), named(BAD_FILES))
def test_a_bad_file_is_refused_in_one_line(tmp_path: Path, text: str, match: str) -> None:
    with pytest.raises(SettingsError, match=match) as refused:
        load(CollectorSettings, written(tmp_path, text))
    assert "\n" not in str(refused.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"cannot read .*nowhere.yaml: No such file"):
        load(CollectorSettings, tmp_path / "nowhere.yaml")


NO_JSON = r"must be JSON \(variables COLLECTOR_{0}, COLLECTOR_{0}__\*\)$"
BAD_VARIABLES = [
    ("unknown", "BOOTSTRAP", "x", r"unknown variable COLLECTOR_BOOTSTRAP; known: .*COLLECTOR_NAME"),
    ("without end", "DLQ_TOPICS", "[" * 60_000, "deeper than any setting"),
    ("no JSON", "DLQ_TOPICS", "orders", NO_JSON.format("DLQ_TOPICS")),
    ("no JSON inside", "RECEIVER__HOSTS", "orders", NO_JSON.format("RECEIVER")),
]


@pytest.mark.parametrize(("name", "value", "match"), named(BAD_VARIABLES))
def test_a_variable_is_refused_by_its_name(
    name: str, value: str, match: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"COLLECTOR_{name}", value)
    with pytest.raises(SettingsError, match=match):
        load(CollectorSettings)


@pytest.mark.parametrize(
    "text",
    [
        "{security_protocol: SASL_SSL, sasl_password: hunter2}",
        "{sasl_password: 'hunter2}",
        "{sasl_password: *hunter2}",
        "{sasl_password: !hunter2 x}",
    ],
)
def test_a_refusal_never_shows_a_value(text: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as refused:
        load(CollectorSettings, written(tmp_path, f"kafka: {text}"))
    assert "hunter2" not in str(refused.value)
