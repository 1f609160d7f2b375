"""Settings that are deprecated, ignored or contradictory."""

import re

import pytest

from collector.settings import CollectorSettings

OLD, NEW = "task_shutdown_graceful_timeout_ms", "connector_shutdown_graceful_timeout_ms"


@pytest.mark.parametrize(
    ("given", "total_ms"),
    [({}, 5_000), ({OLD: 7}, 7), ({OLD: 7, NEW: 5_000}, 5_000)],
    ids=["neither is set", "the deprecated name serves", "the new name wins"],
)
def test_one_total_time_to_stop(given: dict[str, int], total_ms: int) -> None:
    assert CollectorSettings.model_validate(given).graceful_timeout_ms == total_ms


def test_settings_of_old_are_accepted_with_a_warning() -> None:
    deprecated, ignored = CollectorSettings(task_shutdown_graceful_timeout_ms=7, retries=0).warnings()
    assert deprecated.startswith("task_shutdown_graceful_timeout_ms is deprecated")
    assert ignored.startswith("retries is ignored")
    assert CollectorSettings().warnings() == ()


def test_a_broker_that_others_have_under_the_same_address_is_warned_of() -> None:
    here, there = "http://me:secret@localhost:8778/jolokia?token=secret", "http://kafka-1:8778/jolokia"
    brokers = ({"jolokia_url": here}, {"jolokia_url": there}, {"jolokia_url": here, "name": "kafka-1"})
    assert CollectorSettings.model_validate({"brokers": brokers}).warnings() == ()
    (warning,) = CollectorSettings.model_validate({"brokers": brokers, "name": "kafka-1"}).warnings()
    assert "the broker of jolokia_url localhost:8778/jolokia is called by" in warning


@pytest.mark.parametrize("wrong", ["{}", "{worker}", "{host:8778}", "{host!r}", "{port", "}"])
def test_an_agent_has_no_other_placeholder_than_host_and_port(wrong: str) -> None:
    connect = {"url": "http://c:8083", "jolokia_url": f"http://{{host}}:{wrong}"}
    with pytest.raises(ValueError, match=re.escape(f"not {wrong}")):
        CollectorSettings.model_validate({"connect": [connect]})


def test_an_initial_backoff_above_the_maximum_is_warned_of_in_kafkas_words() -> None:
    (warning,) = CollectorSettings(retry_backoff_ms=1_001, retry_backoff_max_ms=1_000).warnings()
    assert warning == (
        "Configuration 'retry_backoff_ms' with value '1001' is greater than configuration"
        " 'retry_backoff_max_ms' with value '1000'. A static backoff with value '1000' will be applied."
    )
    assert CollectorSettings(retry_backoff_ms=1_000, retry_backoff_max_ms=1_000).warnings() == ()
