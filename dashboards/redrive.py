"""Redrives: orders, what became of their records, and how much of it came back."""

from typing import Final

from api.metrics import catalog
from dashboards import counts
from dashboards.frame import DETAILS, NOW, RANGE, SCOPE, SINCE_WHEN, WHICH, Board, Choice, Row
from dashboards.panels import (
    ANY_IS_ODD,
    NEUTRAL,
    ORANGE,
    RED,
    About,
    AnyPanel,
    Column,
    Page,
    curves,
    number,
    ranking,
    rows,
)
from dashboards.shared import in_this_time

UID: Final = "deadwatch-redrive"
TOPIC: Final = SCOPE.narrowed(dlq_topic="$topic")
BOUNCES: Final = ((0.05, ORANGE), (0.2, RED))
WAITING: Final = ("PAUSED", "CANCELLING")


def stopped() -> AnyPanel:
    """Orders that wait for somebody."""
    about = About(
        "Orders that wait",
        "PAUSED: one waits for somebody, status_reason says for what. CANCELLING that stays: no worker runs.",
        Page.REDRIVES,
        steps=ANY_IS_ODD,
        width=4,
    )
    return number(about, SCOPE.or_zero(SCOPE.gauge(catalog.REDRIVE_JOBS, status=WAITING).sum()))


def active() -> AnyPanel:
    """Orders at work."""
    about = About("Orders running", "Redrives that move records now.", Page.REDRIVES, steps=NEUTRAL, width=4)
    return number(about, SCOPE.or_zero(SCOPE.gauge(catalog.REDRIVE_JOBS, status="RUNNING").sum()))


def bounced() -> AnyPanel:
    """How much came back."""
    about = About(
        "Bounce rate",
        "Records that came back, of those put back in the chosen time. High: the cause is not mended.",
        Page.REDRIVES,
        unit="percentunit",
        steps=BOUNCES,
        width=4,
    )
    back = TOPIC.grown(catalog.REDRIVE_RECORDS, RANGE, outcome="bounced").sum()
    sent = TOPIC.grown(catalog.REDRIVE_RECORDS, RANGE, outcome="sent").sum().above(0)
    return number(about, SCOPE.or_zero(back.over(sent)))


def _moved(title: str, text: str, outcome: str, *, bad: bool) -> AnyPanel:
    about = About(title, text, Page.REDRIVES, steps=ANY_IS_ODD if bad else NEUTRAL, width=4)
    return number(about, in_this_time(TOPIC, catalog.REDRIVE_RECORDS, outcome=outcome))


def sent() -> AnyPanel:
    """Records put back."""
    return _moved("Put back", "Records put back in the chosen time.", "sent", bad=False)


def parked() -> AnyPanel:
    """Records whose attempts are used up."""
    text = "Records whose attempts were used up in the chosen time; they lie on <topic>.parked for a person."
    return _moved("Parked", text, "parked", bad=True)


def skipped() -> AnyPanel:
    """Records not moved."""
    text = "Records passed over in the chosen time, each with a reason in the order's outcomes."
    return _moved("Skipped", text, "skipped", bad=True)


def outcomes() -> AnyPanel:
    """What became of the records, over time."""
    about = About(
        "Outcomes", "Records in each rate interval, by outcome.", Page.REDRIVES, steps=NEUTRAL, width=12
    )
    return curves(
        about, TOPIC.grown(catalog.REDRIVE_RECORDS).sum("outcome").above(0), "{{outcome}}", bars=True
    )


def orders() -> AnyPanel:
    """Orders by state, over time."""
    about = About(
        "Orders by state",
        "How many orders are in each state that is not final.",
        Page.REDRIVES,
        steps=NEUTRAL,
        width=12,
    )
    unfinished = SCOPE.gauge(catalog.REDRIVE_JOBS, status=("RUNNING", *WAITING)).sum("status")
    return curves(about, unfinished, "{{status}}")


def topics() -> AnyPanel:
    """From where to where."""
    about = About(
        "From and to",
        "Records of the chosen time by dead letter topic, target and outcome.",
        Page.REDRIVES,
        steps=NEUTRAL,
        width=24,
    )
    labels = ("kafka_cluster", "dlq_topic", "target_topic", "outcome")
    moved = TOPIC.grown(catalog.REDRIVE_RECORDS, RANGE).sum(*labels).above(0)
    return rows(about, labels, Column("Records", moved))


def left() -> AnyPanel:
    """What is still to do."""
    about = About(
        "Still waiting",
        "Dead letters of each topic that no redrive has put back or parked.",
        Page.TOPICS,
        steps=ANY_IS_ODD,
        width=8,
    )
    return ranking(about, counts.unhandled(TOPIC).sum("dlq_topic"), "{{dlq_topic}}")


def kept() -> AnyPanel:
    """What waits for a person."""
    about = About(
        "Parked",
        "Records that were parked and not moved on since: their attempts are used up, nobody tries again.",
        Page.TOPICS,
        steps=ANY_IS_ODD,
        width=8,
    )
    return ranking(about, TOPIC.gauge(catalog.PARKED_BACKLOG).sum("dlq_topic"), "{{dlq_topic}}")


def states() -> AnyPanel:
    """All orders."""
    about = About(
        "All orders",
        "Orders by state, final ones with them. FAILED: status_reason says why.",
        Page.REDRIVES,
        steps=NEUTRAL,
        width=8,
    )
    return rows(about, ("status",), Column("Orders", SCOPE.gauge(catalog.REDRIVE_JOBS).sum("status")))


BOARD: Final = Board(
    uid=UID,
    title="Deadwatch / Redrive",
    description="Dead letters on their way back: orders, outcomes, and what came back again.",
    rows=(
        Row(NOW, (stopped(), active(), bounced(), sent(), parked(), skipped())),
        Row(SINCE_WHEN, (outcomes(), orders())),
        Row(WHICH, (topics(),)),
        Row(DETAILS, (left(), kept(), states())),
    ),
    choices=(Choice("topic", "Dead letter topic", catalog.REDRIVE_RECORDS, "dlq_topic"),),
)
