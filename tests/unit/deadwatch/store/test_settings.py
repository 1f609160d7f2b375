"""What several processes have as a setting is refused by each of them, and means the same to each."""

import pytest
from pydantic import ValidationError

from api.settings import ApiSettings
from collector.settings import CollectorSettings
from deadwatch.orders.reasons import SkipReason
from deadwatch.runtime.settings import ProcessSettings
from deadwatch.store.settings import TargetSettings
from redrive.settings import RedriveSettings
from streaming.settings import StreamingSettings

PROCESSES = (ApiSettings, CollectorSettings, RedriveSettings, StreamingSettings)


@pytest.mark.parametrize("process", PROCESSES)
@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("events_topic", "our events", "should match pattern"),
        ("events_topic", "e" * 250, "should match pattern"),
        ("dlq_topics", ("dlq.(",), "is not a regular expression"),
        ("kafka_cluster", "", "at least 1 character"),
        ("otel_endpoint", "collector:4318", "should match pattern"),
    ],
)
def test_a_broken_value_is_refused_at_the_door(
    process: type[ProcessSettings], setting: str, value: object, said: str
) -> None:
    with pytest.raises(ValidationError, match=said):
        process.model_validate({setting: value})


@pytest.mark.parametrize("process", [ApiSettings, RedriveSettings])
def test_a_redrive_never_writes_to_our_events_whatever_they_are_called(process: type[TargetSettings]) -> None:
    settings = process.model_validate({"events_topic": "acme.events"})
    rules = settings.target_rules(frozenset(), {"acme.events": 6, "deadwatch.events": 6, "orders": 6})
    assert rules.refusal("acme.events") is SkipReason.TARGET_INTERNAL
    assert rules.refusal("deadwatch.events") is SkipReason.TARGET_INTERNAL
    assert rules.refusal("orders") is None
