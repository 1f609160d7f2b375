"""Topics of log lines as Kafka tells of them: there, hidden or closed."""

from typing import Any

import pytest

from api.checks import Level, kafka


class Admin:
    """Knows two topics, and one of them may not be read."""

    def describe_topics(self, topics: list[str]) -> list[dict[str, Any]]:
        assert topics, "no names: that would be every topic"
        allowed = {"lines": ["READ", "DESCRIBE"], "closed": ["DESCRIBE"]}
        codes = {name: 0 if name in allowed else 3 for name in topics}
        return [
            {"name": name, "error_code": code, "authorized_operations": allowed.get(name)}
            for name, code in codes.items()
        ]


ADMIN: Any = Admin()


@pytest.mark.parametrize(
    ("topic", "level", "seen"),
    [
        ("lines", Level.OK, "topic lines may be read"),
        ("closed", Level.FAIL, "no READ on topic closed"),
        ("later", Level.WARN, "topic later is missing, or may not be seen"),
    ],
)
def test_a_topic_of_log_lines(topic: str, level: Level, seen: str) -> None:
    (finding,) = kafka.log_topics([topic], ADMIN)
    assert (finding.level, finding.seen) == (level, seen)
    assert list(kafka.log_topics([], ADMIN)) == []
