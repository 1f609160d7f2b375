import io
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
from rich.console import Console

from api.metrics import catalog
from deadwatch.api_client import Api, RefusedError
from deadwatch.demo_last_act import LastAct, Redriven
from deadwatch.demo_latency import Change, Latencies, Stall, latencies
from deadwatch.demo_rows import TITLES, rows
from deadwatch.demo_show import tails
from deadwatch.demo_table import Row, all_hold, missing, plain, rich_table, summary
from deadwatch.demo_truth import log_times
from deadwatch.demo_watch import Signal, Watch, parse
from lab import Lab, Truth
from lab.truth import count_expired, count_task_timeouts
from streaming.redrive.plan import Plan


@dataclass(frozen=True)
class Case:
    name: str
    happened_ms: tuple[int, ...]
    changes: tuple[Change, ...]
    found: Latencies
    stalls: tuple[Stall, ...] = ()


CASES = [
    Case("nothing happened", (), ((5, 1),), Latencies()),
    Case("one at a time", (100, 200), ((150, 1), (260, 2)), Latencies((50, 60))),
    Case("two arrive at once", (100, 200), ((260, 2),), Latencies((160, 60))),
    Case("what has not arrived has no delay", (100, 200), ((150, 1),), Latencies((50,))),
    Case("times in any order", (200, 100), ((150, 1), (260, 2)), Latencies((50, 60))),
    Case("clocks that differ give no negative delay", (100,), ((90, 1),), Latencies((0,))),
    Case("in a stall it counts from its end", (100,), ((450, 1),), Latencies((50,), 1), (Stall(50, 400),)),
    Case("a stall that is over does not count", (400,), ((450, 1),), Latencies((50,)), (Stall(50, 400),)),
    Case(
        "a stall that begins later does not count", (49,), ((450, 1),), Latencies((401,)), (Stall(50, 400),)
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_how_long_occurrences_took(case: Case) -> None:
    assert latencies(case.happened_ms, case.changes, case.stalls) == case.found


def test_median_and_p95_are_those_of_the_nearest_rank() -> None:
    found = Latencies(tuple(range(1, 101)))

    assert (found.median_ms, found.p95_ms) == (50, 95)
    assert (Latencies().median_ms, Latencies().p95_ms) == (None, None)


def test_the_summary_says_how_many_waited_for_the_broker() -> None:
    assert summary(Latencies((100, 300), 1)) == (
        "event to /metrics: median 0.20 s, p95 0.30 s over 2 events "
        "(1 of them while the broker was stopped, counted from its return)"
    )


@pytest.mark.parametrize(
    ("expected", "seen", "holds"),
    [("10", "10", True), ("10", "9", False), ("10", "11", False), (None, "0", False), ("0", "0", True)],
    ids=["exact", "too few", "too many", "never provoked", "nothing expected"],
)
def test_a_row_holds_when_it_is_exact(expected: str | None, seen: str, *, holds: bool) -> None:
    row = Row("dead letters", expected, seen)

    assert row.holds is all_hold([row]) is holds
    assert len(missing([row])) == (0 if holds else 1)


def test_the_plain_table_is_aligned() -> None:
    assert plain([Row("dead letters", "10", "9", Latencies((400,))), Row("timeouts", None, "0")]) == (
        "what          expected  seen  after (median)\n"
        "dead letters        10     9          0.40 s\n"
        "timeouts             …     0"
    )


def test_the_terminal_table_says_the_same() -> None:
    output = io.StringIO()

    Console(file=output, width=100).print(rich_table([Row("dead letters", "10", "9")], "now"))

    assert all(text in output.getvalue() for text in ("dead letters", "10", "9", "now"))


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


def test_a_figure_is_the_sum_of_the_samples_with_its_labels() -> None:
    watch = Watch("")

    watch.note(parse(scrape(abandoned=1)), 1)

    assert watch.value(Signal.CONNECT_DEAD_LETTERS) == 7
    assert watch.value(Signal.ALL_DEAD_LETTERS) == 12
    assert watch.value(Signal.SHARE_DEAD_LETTERS) == 0


def test_a_figure_remembers_every_value_and_when_it_came() -> None:
    watch = Watch("")

    for at_ms, abandoned in enumerate((0, 1, 1, 0)):
        watch.note(parse(scrape(abandoned)), at_ms)

    assert watch.changes[Signal.ABANDONED_NOW] == [(1, 1), (3, 0)]


def test_an_incomplete_scrape_changes_nothing() -> None:
    watch = Watch("")
    watch.note(parse(scrape(abandoned=1)), 1)

    watch.note(parse(scrape(abandoned=0, store_up=0)), 2)

    assert watch.value(Signal.ABANDONED_NOW) == 1


def test_a_stall_reaches_to_where_the_broker_was_last_seen_stopped() -> None:
    watch = Watch("")

    for at_ms, stopped in enumerate((False, True, True, False, True, False)):
        watch.note_broker(at_ms, stopped=stopped)

    assert watch.stalls == [Stall(1, 2), Stall(4, 4)]


TRAILS = [
    ("held", Truth(abandoned_tasks_current=1, abandoned_tasks_total=1), (1,), True),
    ("released", Truth(abandoned_tasks_total=1), (1, 0), True),
    ("not yet seen to be released", Truth(abandoned_tasks_total=1), (1,), False),
    ("counted twice for a moment", Truth(abandoned_tasks_total=1), (1, 2, 1, 0), False),
    ("flickering", Truth(abandoned_tasks_total=1), (1, 0, 1, 0), False),
    ("never provoked", Truth(), (), False),
]


@pytest.mark.parametrize(
    ("truth", "values", "holds"), [row[1:] for row in TRAILS], ids=[row[0] for row in TRAILS]
)
def test_abandoned_tasks_must_come_and_go_exactly(
    truth: Truth, values: tuple[int, ...], *, holds: bool
) -> None:
    watch = Watch("")
    for at_ms, value in enumerate(values):
        watch.note(parse(scrape(value)), at_ms)

    assert rows(truth, Redriven(), watch)[0].holds is holds


STREAMS_LOG = """\
[2026-11-21 10:00:00,000] INFO nothing (a:1)
[2026-11-21 10:00:01,500] ERROR Expiring 3 record(s) for t-0:3001 ms has passed since batch creation (a:1)
Caused by: Expiring 3 record(s) for t-0:3001 ms has passed since batch creation
[2026-11-21 10:00:02,000] ERROR Task 1_1 did not make progress within 4006 ms. (a:1)
[2026-11-21 10:00:02,100] INFO Task 1_1 did not make progress within 4006 ms. (a:1)
[2026-11-21 10:00:02,200] INFO Task 0_1 did not make progress within 4006 ms. (a:1)
"""


def test_times_are_those_of_the_entries_that_raise_the_count(tmp_path: Path) -> None:
    log = tmp_path / "streams.log"
    log.write_text(STREAMS_LOG)

    expired = log_times(log, lambda text: count_expired(text).records)
    timeouts = log_times(log, count_task_timeouts)

    assert len(expired) == 3
    assert len(set(expired)) == 1
    assert [at_ms - expired[0] for at_ms in timeouts] == [500, 700]


def test_the_tails_show_trouble_where_there_is_some_else_the_last_lines(tmp_path: Path) -> None:
    (tmp_path / "streaming.log").write_text("INFO begun\nx ERROR [streaming] no disk\nINFO goes on\n")
    (tmp_path / "api.log").write_text("INFO listening\n")

    assert tails(tmp_path).splitlines() == [
        "--- api",
        "INFO listening",
        "--- streaming",
        "x ERROR [streaming] no disk",
    ]


def test_what_was_put_back_has_its_own_witnesses() -> None:
    truth = Truth(connect_dead_letters=20, share_dead_letters=10, share_accepted=10, connect_returned=10)

    told = {row.what: row.expected for row in rows(truth, Redriven(orders=3, parked=9), Watch(""))}

    signals = (Signal.REDRIVES, Signal.SENT, Signal.BOUNCED, Signal.PARKED)
    assert [told[TITLES[signal]] for signal in signals] == ["3", "20", "10", "9"]


def test_a_redrive_that_does_not_complete_ends_the_last_act_with_its_reason() -> None:
    shown: list[object] = []
    order = {"id": "r1", "status": "PAUSED", "status_reason": "Kafka refuses"}
    answers = iter([{"dlq_topic": "dlq.t", "plan": PLAN}, order])
    transport = httpx2.MockTransport(lambda _: httpx2.Response(202, json=next(answers)))
    act = LastAct(Api(httpx2.Client(transport=transport, base_url="http://api.test")), shown.append, 10)

    _, first = act.acts[0]
    with pytest.raises(RefusedError, match="redrive r1 is PAUSED: Kafka refuses"):
        first(Lab())

    assert (len(shown), act.done) == (1, Redriven())


PLAN = Plan(to_move=10).model_dump(mode="json") | {"at_most": 10}
