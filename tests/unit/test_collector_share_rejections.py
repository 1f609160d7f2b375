"""Who may be rejecting without a dead letter queue, by meters that do not say whose they are."""

from collections.abc import Mapping

import pytest

from collector.settings import BrokerSettings
from collector.sources.findings_share import suspects
from collector.sources.share_rejections import Look, Rejections, Tally, following, more

QUEUES = {"a": "", "b": "dlq.b", "c": None, "d": ""}
SUSPECTS = [
    ("nobody while nothing is rejected", set(), QUEUES, False, set()),
    ("whoever has no queue when it is", set(), QUEUES, True, {"a", "d"}),
    ("as long as it has none", {"a", "c"}, QUEUES, False, {"a", "c"}),
    ("no longer than it has none, or is there", {"b", "gone"}, QUEUES, False, set()),
    ("as before when nobody tells", {"b"}, None, True, {"b"}),
]


@pytest.mark.parametrize(
    ("before", "queues", "grew", "suspected"), [row[1:] for row in SUSPECTS], ids=[row[0] for row in SUSPECTS]
)
def test_who_may_be_rejecting(
    before: set[str], queues: Mapping[str, str | None] | None, suspected: set[str], *, grew: bool
) -> None:
    assert suspects(before, queues, grew=grew) == suspected


LOOKS = [
    ("what was rejected before we looked is nobody's", [Look(1, 5, 0), Look(1, 5, 0)], False),
    ("rejections without dead letters", [Look(1, 0, 0), Look(1, 0, 0), Look(1, 5, 0), Look(1, 5, 0)], True),
    (
        "every rejection has its dead letter",
        [Look(1, 0, 0), Look(1, 0, 0), Look(1, 5, 2), Look(1, 9, 5)],
        False,
    ),
    ("no more than before", [Look(1, 5, 0), Look(1, 5, 0), Look(1, 7, 2), Look(1, 7, 2)], False),
    (
        "nor after a flood",
        [Look(1, 5, 0), Look(1, 5, 0), Look(1, 9, 9), Look(1, 14, 9), Look(1, 14, 9)],
        False,
    ),
    (
        "dead letters of what was given up",
        [Look(1, 0, 9), Look(1, 0, 9), Look(1, 5, 9), Look(1, 5, 9)],
        False,
    ),
    ("a broker that was started since", [Look(1, 9, 0), Look(1, 9, 0), Look(2, 0, 0), Look(2, 0, 0)], False),
    ("and rejects again", [Look(1, 9, 0), Look(1, 9, 0), Look(2, 3, 0), Look(2, 3, 0)], True),
]


@pytest.mark.parametrize(("looks", "grew"), [row[1:] for row in LOOKS], ids=[row[0] for row in LOOKS])
def test_whether_rejections_without_dead_letters_grew(looks: list[Look], *, grew: bool) -> None:
    tally: Tally | None = None
    seen = []
    for look in looks:
        now = following(tally, look)
        seen.append(more(tally, now))
        tally = now
    assert any(seen) is grew


def test_a_broker_that_does_not_tell_accuses_nobody() -> None:
    rejections = Rejections([BrokerSettings(jolokia_url="http://127.0.0.1:1/jolokia")])
    assert not rejections.grew()
    rejections.close()
