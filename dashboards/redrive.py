"""Redrives: orders, what became of their records, and how much of it came back."""

from typing import Final

from api.metrics import catalog
from dashboards import figures
from dashboards.figures import in_this_time, now
from dashboards.frame import RANGE, SCOPE, Board, Choice
from dashboards.panels import (
    ANY_IS_ODD,
    NEUTRAL,
    ORANGE,
    RED,
    AnyPanel,
    Column,
    Page,
    curves,
    number,
    ranking,
    rows,
)

TOPIC: Final = SCOPE.narrowed(dlq_topic="$topic")
WAITING: Final = ("PAUSED", "CANCELLING")


def _moved(title: str, text: str, outcome: str, *, bad: bool) -> AnyPanel:
    moved = in_this_time(TOPIC, catalog.REDRIVE_RECORDS, outcome=outcome)
    return number(title, text, moved, steps=ANY_IS_ODD if bad else NEUTRAL)


BY_OUTCOME: Final = ("kafka_cluster", "dlq_topic", "target_topic", "outcome")

BOARD: Final = Board(
    uid="deadwatch-redrive",
    title="Deadwatch / Redrive",
    description="Dead letters on their way back: orders, outcomes, and what came back again.",
    page=Page.REDRIVES,
    now=(
        number(
            "Orders that wait",
            "PAUSED: one waits for somebody, status_reason says for what. CANCELLING that stays: no "
            "worker runs.",
            now(SCOPE, catalog.REDRIVE_JOBS, status=WAITING),
            steps=ANY_IS_ODD,
        ),
        number(
            "Orders running",
            "Redrives that move records now.",
            now(SCOPE, catalog.REDRIVE_JOBS, status="RUNNING"),
            steps=NEUTRAL,
        ),
        number(
            "Bounce rate",
            "Records that came back, of those put back in the chosen time. High: the cause is not fixed.",
            SCOPE.or_zero(
                TOPIC.grown(catalog.REDRIVE_RECORDS, RANGE, outcome="bounced")
                .sum()
                .over(TOPIC.grown(catalog.REDRIVE_RECORDS, RANGE, outcome="sent").sum().above(0))
            ),
            unit="percentunit",
            steps=((0.05, ORANGE), (0.2, RED)),
        ),
        _moved("Put back", "Records put back in the chosen time.", "sent", bad=False),
        _moved(
            "Parked",
            "Records whose attempts were used up in the chosen time; they lie on <topic>.parked for a "
            "person.",
            "parked",
            bad=True,
        ),
        _moved(
            "Skipped",
            "Records passed over in the chosen time, each with a reason in the order's outcomes.",
            "skipped",
            bad=True,
        ),
    ),
    since_when=(
        curves(
            "Outcomes",
            "Records in each rate interval, by outcome.",
            TOPIC.grown(catalog.REDRIVE_RECORDS).sum("outcome").above(0),
            bars=True,
        ),
        curves(
            "Orders by state",
            "How many orders are in each state that is not final.",
            SCOPE.gauge(catalog.REDRIVE_JOBS, status=("RUNNING", *WAITING)).sum("status"),
        ),
    ),
    which=(
        rows(
            "From and to",
            "Records of the chosen time by dead letter topic, target and outcome.",
            BY_OUTCOME,
            Column("Records", TOPIC.grown(catalog.REDRIVE_RECORDS, RANGE).sum(*BY_OUTCOME).above(0)),
        ),
    ),
    details=(
        ranking(
            "Still waiting",
            "Dead letters of each topic that no redrive has put back or parked.",
            figures.unhandled(TOPIC).sum("dlq_topic"),
            steps=ANY_IS_ODD,
            page=Page.TOPICS,
        ),
        ranking(
            "Parked",
            "Records that were parked and not moved on since: their attempts are used up, nobody tries "
            "again.",
            TOPIC.gauge(catalog.PARKED_BACKLOG).sum("dlq_topic"),
            steps=ANY_IS_ODD,
            page=Page.TOPICS,
        ),
        rows(
            "All orders",
            "Orders by state, final ones with them. FAILED: status_reason says why.",
            ("status",),
            Column("Orders", SCOPE.gauge(catalog.REDRIVE_JOBS)),
        ),
    ),
    choices=(Choice("topic", "Dead letter topic", catalog.REDRIVE_RECORDS, "dlq_topic"),),
)
