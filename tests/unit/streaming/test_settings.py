"""Settings that contradict themselves are refused."""

import pytest
from pydantic import ValidationError

from streaming.settings import StreamingSettings
from tests.tables import named

ANY = {"quarantine_topic_prefix": ""}
REFUSED = [
    ("our dead letters read as events", {**ANY, "quarantine_topic": "deadwatch.events"}, "must differ"),
    ("a queue against the prefix", {"quarantine_topic": "letters"}, "does not begin with dlq."),
    ("a queue with a name of Kafka's", {**ANY, "quarantine_topic": "__letters"}, "must not start with '__'"),
    ("a pattern that is none", {"dlq_topics": ("dlq.(",)}, "not a regular expression"),
    ("a call shorter than its requests", {"default_api_timeout_ms": 100}, "at least request_timeout_ms"),
    ("memory without unit", {"driver_memory": "1024"}, "driver_memory"),
    ("a port that Spark does not take", {"ui_port": 80}, "greater than or equal to 1024"),
    ("a port of its own", {"ui_port": 4_040, "spark": {"spark.ui.port": "80"}}, "set ui_port instead"),
    ("so where it is said", {"spark": {"spark.ui.enabled": "TRUE", "spark.ui.port": "-1"}}, "set ui_port"),
    ("no port at all", {"spark": {"spark.port.maxRetries": " -1"}}, "must not be negative"),
    ("a figure depends on it", {"spark": {"spark.sql.ansi.enabled": "true"}}, "the figures depend on it"),
    ("so on this", {"spark": {"spark.sql.mapKeyDedupPolicy": "true"}}, "the figures depend on it"),
    ("a setting of nobody", {"spark": {"executor.memory": "true"}}, "no setting of Spark"),
]


@pytest.mark.parametrize(("values", "message"), named(REFUSED))
def test_contradictions_are_refused(values: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        StreamingSettings.model_validate(values)


@pytest.mark.parametrize("port", ["0", "1024", "65535", " 4041 ", "+4041", "${env:PORT}"])
def test_a_port_that_sparks_ui_takes_is_left_to_it(port: str) -> None:
    StreamingSettings(ui_port=4_040, spark={"spark.ui.port": port})
    StreamingSettings(spark={"spark.ui.port": "80"})
