"""Topics of log lines as Kafka tells of them: there, hidden or closed."""

from typing import Any

import pytest

from api.checks import kafka
from api.checks.finding import Level


class Admin:
    """Knows two topics, and one of them may not be read."""

    def describe_topics(self, topics: list[str]) -> list[dict[str, Any]]:
        assert topics, "no names: that would be every topic"
        allowed = {"lines": ["READ", "DESCRIBE"], "closed": ["DESCRIBE"]}
        return [
            {
                "name": name,
                "error_code": 0 if name in allowed else 3,
                "authorized_operations": allowed.get(name),
            }
            for name in topics
        ]


ADMIN: Any = Admin()


@pytest.mark.parametrize(
    ("topic", "level", "seen"),
    [
        ("lines", Level.OK, "topic lines may be read"),
        ("closed", Level.FAIL, "no READ on topic closed"),
        ("later", Level.WARN, "topic later is missing, or not for us"),
    ],
)
def test_a_topic_of_log_lines(topic: str, level: Level, seen: str) -> None:
    (finding,) = kafka.log_topics([topic], ADMIN)
    assert (finding.level, finding.seen) == (level, seen)


def test_no_topics_of_log_lines() -> None:
    assert list(kafka.log_topics([], ADMIN)) == []
