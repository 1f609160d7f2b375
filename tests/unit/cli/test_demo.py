from dataclasses import asdict
from pathlib import Path

import httpx2
import pytest
from rich.console import Console

from api.metrics import catalog
from cli.api_client import RefusedError
from cli.demo.command import redrive, tails
from cli.demo.figures import (
    ABANDONED_NOW,
    Delay,
    Row,
    Watch,
    delays,
    plain,
    rich_table,
    save_picture,
    summary,
)
from lab import Truth
from redrive.plan.plan import Plan
from tests.unit.cli.terminal import api_that, printed

DELAYS: dict[str, tuple[tuple[int, ...], list[tuple[int, int]], tuple[int, int], list[Delay]]] = {
    "nothing happened": ((), [(5, 1)], (0, 0), []),
    "one at a time": ((100, 200), [(150, 1), (260, 2)], (0, 0), [Delay(50), Delay(60)]),
    "two arrive at once": ((100, 200), [(260, 2)], (0, 0), [Delay(160), Delay(60)]),
    "what has not arrived has no delay": ((100, 200), [(150, 1)], (0, 0), [Delay(50)]),
    "times in any order": ((200, 100), [(150, 1), (260, 2)], (0, 0), [Delay(50), Delay(60)]),
    "clocks that differ give no negative delay": ((100,), [(90, 1)], (0, 0), [Delay(0)]),
    "in a stall it counts from its end": ((100,), [(450, 1)], (50, 400), [Delay(50, stalled=True)]),
    "a stall that is over does not count": ((400,), [(450, 1)], (50, 400), [Delay(50)]),
    "a stall that begins later does not count": ((49,), [(450, 1)], (50, 400), [Delay(401)]),
}


@pytest.mark.parametrize("name", DELAYS)
def test_how_long_occurrences_took(name: str) -> None:
    happened_ms, changes, stall, found = DELAYS[name]
    assert delays(happened_ms, changes, [stall]) == found


def test_the_summary_has_the_nearest_rank_and_says_how_many_waited_for_the_broker() -> None:
    assert summary([]) == "event to /metrics: median , p95  over 0 events"
    assert summary([*(Delay(10 * ms) for ms in range(1, 100)), Delay(1_000, stalled=True)]) == (
        "event to /metrics: median 0.51 s, p95 0.95 s over 100 events "
        "(1 of them while the broker was stopped, counted from its return)"
    )


@pytest.mark.parametrize(
    ("expected", "seen", "holds"),
    [("10", "10", True), ("10", "9", False), ("10", "11", False), (None, "0", False), ("0", "0", True)],
    ids=["exact", "too few", "too many", "never provoked", "nothing expected"],
)
def test_a_row_holds_when_it_is_exact(expected: str | None, seen: str, *, holds: bool) -> None:
    assert Row("dead letters", expected, seen).holds is holds


def test_the_plain_table_is_aligned() -> None:
    assert plain([Row("dead letters", "10", "9", [Delay(400)]), Row("timeouts", None, "0")]) == (
        "what          expected  seen  after (median)\n"
        "dead letters        10     9          0.40 s\n"
        "timeouts             …     0"
    )


def test_the_terminal_table_and_the_picture_show_the_same(tmp_path: Path) -> None:
    picture = tmp_path / "demo.svg"
    table = [Row("timeouts", "10", "9")]
    save_picture(picture, table, "now")
    for text in (printed(rich_table(table, "now")), picture.read_text()):
        assert all(cell in text for cell in ("timeouts", "10", "9", "now"))
    assert "font-face" not in picture.read_text(), "it asks no other host for a font"


def scrape(abandoned: int, *, store_up: int = 1) -> str:
    return (
        f"# TYPE deadwatch_store_up gauge\n{catalog.STORE_UP.name} {store_up}\n"
        "# TYPE deadwatch_connect_abandoned_tasks gauge\n"
        f'{catalog.ABANDONED_TASKS.name}{{connector="a",task="0"}} {abandoned}\n'
        "# TYPE deadwatch_dead_letter_queue_records counter\n"
        f'{catalog.DEAD_LETTERS.name}{{dialect="connect",dlq_topic="a"}} 3\n'
        f'{catalog.DEAD_LETTERS.name}{{dialect="connect",dlq_topic="b"}} 4\n'
        f'{catalog.DEAD_LETTERS.name}{{dialect="unknown",dlq_topic="b"}} 5\n'
    )


def provoked(truth: Truth = Truth(), **redriven: int) -> dict[str, int]:  # noqa: B008 -- frozen
    return asdict(truth) | {"orders": 0, "parked": 0} | redriven


def test_a_figure_is_the_sum_of_the_samples_with_its_label() -> None:
    watch = Watch("")
    watch.note(scrape(abandoned=1), 1)
    seen = {row.what: row.seen for row in watch.rows(provoked())}
    assert seen["dead letters of Connect"] == "7"
    assert seen["dead letters of every dialect"] == "12"
    assert seen["dead letters of a share group"] == "0"


def test_a_figure_remembers_every_value_and_when_it_came_but_none_of_an_incomplete_scrape() -> None:
    watch = Watch("")
    for at_ms, abandoned in enumerate((0, 1, 1, 0)):
        watch.note(scrape(abandoned), at_ms)
    watch.note(scrape(abandoned=1, store_up=0), 4)
    assert watch.changes[ABANDONED_NOW] == [(1, 1), (3, 0)]


RELEASED, HELD = Truth(abandoned_tasks_total=1), Truth(abandoned_tasks_current=1, abandoned_tasks_total=1)
TRAILS = {
    "held": (HELD, (1,), True),
    "released": (RELEASED, (1, 0), True),
    "not yet seen to be released": (RELEASED, (1,), False),
    "counted twice for a moment": (RELEASED, (1, 2, 1, 0), False),
    "flickering": (RELEASED, (1, 0, 1, 0), False),
    "never provoked": (Truth(), (), False),
}


@pytest.mark.parametrize(("truth", "values", "holds"), TRAILS.values(), ids=TRAILS)
def test_abandoned_tasks_must_come_and_go_exactly(
    truth: Truth, values: tuple[int, ...], *, holds: bool
) -> None:
    watch = Watch("")
    for at_ms, value in enumerate(values):
        watch.note(scrape(value), at_ms)
    assert watch.rows(provoked(truth))[0].holds is holds


ABANDONED = "x ERROR [pipe|task-0] Graceful stop of task pipe-0 failed."


def test_the_tails_show_trouble_where_there_is_some_else_the_last_lines(tmp_path: Path) -> None:
    (tmp_path / "streaming.log").write_text("INFO begun\nx ERROR [streaming] no disk\nINFO goes on\n")
    (tmp_path / "api.log").write_text("INFO listening\n")
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "connect.log").write_text(f"{ABANDONED}\nINFO goes on\n")
    assert tails(tmp_path, tmp_path / "lab").splitlines() == [
        "--- api",
        "INFO listening",
        "--- streaming",
        "x ERROR [streaming] no disk",
        "--- connect",
        ABANDONED,
    ]


def test_what_was_put_back_has_its_own_witnesses() -> None:
    truth = Truth(connect_dead_letters=20, share_dead_letters=10, share_accepted=10, connect_returned=10)
    expected = [row.expected for row in Watch("").rows(provoked(truth, orders=3, parked=9))]
    assert expected[-4:] == ["3", "20", "10", "9"]


def test_a_redrive_that_does_not_complete_ends_the_demo_with_its_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    progress = {"total": 10, "done": 0, "text": "", "counted": False}
    order = {"id": "r1", "status": "PAUSED", "status_reason": "Kafka refuses", "records_per_second": None}
    plan = Plan(to_move=10).model_dump(mode="json") | {"at_most": 10}
    tried = {"dlq_topic": "dlq.t", "plan": plan, "cut_off": {"0": 9}, "dlq_topic_id": None}
    answers = iter([tried, order, {**order, "progress": progress}])
    api = api_that(lambda _: httpx2.Response(202, json=next(answers)))
    with pytest.raises(RefusedError, match="redrive r1 is PAUSED: Kafka refuses"):
        redrive(api, Console(), {"dlq_topic": "dlq.t", "selection": {"all": True}, "reason": "fixed"})
    assert "Dry run on dlq.t" in capsys.readouterr().out
