"""Who may be rejecting without a dead letter queue, by meters that do not say whose they are."""

from collections.abc import Mapping

import pytest

from collector.settings import BrokerSettings
from collector.sources.brokers.share_groups import Counts, Rejections, next_counts
from collector.sources.findings.share import suspects
from tests.tables import named

QUEUES = {"a": "", "b": "dlq.b", "c": None, "d": ""}
SUSPECTS = [
    ("nobody while nothing is rejected", set(), QUEUES, False, set()),
    ("whoever has no queue when it is", set(), QUEUES, True, {"a", "d"}),
    ("as long as it has none", {"a", "c"}, QUEUES, False, {"a", "c"}),
    ("no longer than it has none, or is there", {"b", "gone"}, QUEUES, False, set()),
    ("as before when nobody tells", {"b"}, None, True, {"b"}),
]


@pytest.mark.parametrize(("before", "queues", "grew", "suspected"), named(SUSPECTS))
def test_who_may_be_rejecting(
    before: set[str], queues: Mapping[str, str | None] | None, suspected: set[str], *, grew: bool
) -> None:
    assert suspects(before, queues, grew=grew) == suspected


READINGS = [
    ("what was rejected before the first one is nobody's", [(1, 5, 0), (1, 5, 0)], False),
    ("rejections without dead letters", [(1, 0, 0), (1, 0, 0), (1, 5, 0), (1, 5, 0)], True),
    ("every rejection has its dead letter", [(1, 0, 0), (1, 0, 0), (1, 5, 2), (1, 9, 5)], False),
    ("no more than before", [(1, 5, 0), (1, 5, 0), (1, 7, 2), (1, 7, 2)], False),
    ("nor after a flood", [(1, 5, 0), (1, 5, 0), (1, 9, 9), (1, 14, 9), (1, 14, 9)], False),
    ("dead letters of what was given up", [(1, 0, 9), (1, 0, 9), (1, 5, 9), (1, 5, 9)], False),
    ("a broker that was started since", [(1, 9, 0), (1, 9, 0), (2, 0, 0), (2, 0, 0)], False),
    ("and rejects again", [(1, 9, 0), (1, 9, 0), (2, 3, 0), (2, 3, 0)], True),
]


@pytest.mark.parametrize(("readings", "grew"), named(READINGS))
def test_whether_rejections_without_dead_letters_grew(
    readings: list[tuple[int, int, int]], *, grew: bool
) -> None:
    """A reading: when the broker was started, rejected records, written dead letters."""
    counts: Counts | None = None
    seen = []
    for reading in readings:
        counts, more = next_counts(counts, Counts(*reading))
        seen.append(more)
    assert any(seen) is grew


def test_a_broker_that_does_not_tell_accuses_nobody() -> None:
    rejections = Rejections([BrokerSettings(jolokia_url="http://127.0.0.1:1/jolokia")])
    assert not rejections.grew()
    rejections.close()
