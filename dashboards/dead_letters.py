"""Dead letters: how many wait, since when, on which topic and for which cause, and whether any were lost."""

from typing import Final

from api.metrics import catalog
from dashboards import counts, shared
from dashboards.frame import DETAILS, NOW, RANGE, SCOPE, SINCE_WHEN, WHICH, Board, Choice, Row
from dashboards.panels import (
    ANY_IS_BAD,
    ANY_IS_ODD,
    NEUTRAL,
    ORANGE,
    RED,
    SECONDS,
    TIME,
    YELLOW,
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

UID: Final = "deadwatch-dead-letters"
TOPIC: Final = SCOPE.narrowed(dlq_topic="$topic")
CONNECTOR: Final = SCOPE.narrowed(connector="$connector")
GROUP: Final = SCOPE.narrowed(consumergroup="$consumergroup")
BY_TOPIC: Final = ("kafka_cluster", "dlq_topic")
HOURS = 3_600
TOO_OLD: Final = ((4 * HOURS, YELLOW), (24 * HOURS, ORANGE), (72 * HOURS, RED))


def unhandled() -> AnyPanel:
    """Records that nobody has put back, parked or deleted."""
    about = About(
        "Waiting for somebody",
        "Records on dead letter topics that were neither put back nor parked by a redrive. What other tools "
        "handle counts until its topic is cut.",
        Page.GROUPS,
    )
    return number(about, TOPIC.or_zero(counts.unhandled(TOPIC).sum()))


def arrived() -> AnyPanel:
    """New ones in the chosen time."""
    about = About("New in this time", "Dead letters that arrived in the chosen time range.", Page.GROUPS)
    return number(about, in_this_time(TOPIC, catalog.DEAD_LETTERS))


def oldest() -> AnyPanel:
    """Age of the oldest record."""
    about = About(
        "Oldest record",
        "Age of the oldest record on any dead letter topic. When the topic's retention.ms is over, it is "
        "lost.",
        Page.TOPICS,
        unit=SECONDS,
        steps=TOO_OLD,
    )
    return number(about, TOPIC.gauge(catalog.DEAD_LETTER_OLDEST).age().max())


def lost() -> AnyPanel:
    """Dead letters that could not be written."""
    about = About(
        "Lost in this time",
        "Dead letters that could not be written: share-group records archived all the same, and writes of "
        "Connect sinks that failed. They are on no topic.",
        Page.OVERVIEW,
    )
    return number(about, shared.lost())


def inflow_by_topic() -> AnyPanel:
    """When they arrived, by topic."""
    about = About(
        "Arrivals by topic",
        "Dead letters in each rate interval, by dead letter topic; a topic's very first ones are in it.",
        Page.TOPICS,
        steps=NEUTRAL,
        width=12,
    )
    return curves(
        about, TOPIC.grown(catalog.DEAD_LETTERS).sum("dlq_topic").above(0), "{{dlq_topic}}", bars=True
    )


def backlog() -> AnyPanel:
    """How much lies there."""
    about = About(
        "On the topics",
        "Records on each dead letter topic, handled or not; it falls when retention or somebody deletes.",
        Page.TOPICS,
        steps=NEUTRAL,
        width=12,
    )
    return curves(about, TOPIC.gauge(catalog.DEAD_LETTER_BACKLOG).sum("dlq_topic"), "{{dlq_topic}}")


def topics() -> AnyPanel:
    """Every topic with what waits there."""
    about = About(
        "Dead letter topics",
        "What each topic holds, what of it waits, when its oldest record was written, and what arrived in "
        "the "
        "chosen time.",
        Page.TOPICS,
        steps=NEUTRAL,
        width=24,
    )
    return rows(
        about,
        BY_TOPIC,
        Column("Waiting", counts.unhandled(TOPIC).sum(*BY_TOPIC), steps=ANY_IS_ODD),
        Column("On the topic", TOPIC.gauge(catalog.DEAD_LETTER_BACKLOG).sum(*BY_TOPIC)),
        Column("New in this time", TOPIC.grown(catalog.DEAD_LETTERS, RANGE).sum(*BY_TOPIC)),
        Column("Oldest", TOPIC.gauge(catalog.DEAD_LETTER_OLDEST).times(1_000).min(*BY_TOPIC), unit=TIME),
    )


def causes() -> AnyPanel:
    """By exception class."""
    about = About(
        "Causes",
        "Dead letters of the chosen time by exception class, with where they came from. The api groups them "
        "finer.",
        Page.GROUPS,
        steps=NEUTRAL,
        width=24,
    )
    labels = ("error_class", "dlq_topic", "source_topic", "dialect", "consumergroup", "connector")
    arrivals = TOPIC.grown(catalog.DEAD_LETTERS, RANGE).sum(*labels).above(0)
    return rows(about, labels, Column("New in this time", arrivals, steps=ANY_IS_ODD))


def by_connector() -> AnyPanel:
    """Connectors that give up records."""
    about = About(
        "By connector",
        "Dead letters of the chosen time that a connector wrote. Variable Connector narrows it.",
        Page.CONNECT_TASKS,
        steps=NEUTRAL,
        width=12,
    )
    return ranking(
        about, CONNECTOR.grown(catalog.DEAD_LETTERS, RANGE).sum("connector").top(10), "{{connector}}"
    )


def by_group() -> AnyPanel:
    """Groups that give up records."""
    about = About(
        "By consumer group",
        "Dead letters of the chosen time that a consumer or share group gave up. Variable Consumer group "
        "narrows it.",
        Page.GROUPS,
        steps=NEUTRAL,
        width=12,
    )
    return ranking(
        about, GROUP.grown(catalog.DEAD_LETTERS, RANGE).sum("consumergroup").top(10), "{{consumergroup}}"
    )


def share_groups() -> AnyPanel:
    """The broker's own count beside ours."""
    about = About(
        "Share groups: the brokers' count and ours",
        "What brokers say they wrote for a share group in the chosen time, what was seen on topics, and "
        "attempts "
        "that failed. Brokers ahead of topics: a topic is not read, was cut, or records are lost.",
        Page.TOPICS,
        steps=NEUTRAL,
        width=12,
    )
    labels = ("kafka_cluster", "consumergroup")
    seen = GROUP.grown(catalog.DEAD_LETTERS, RANGE, dialect="share_group")
    failed = GROUP.grown(catalog.SHARE_FAILED_REQUESTS, RANGE).sum(*labels)
    return rows(
        about,
        labels,
        Column("Brokers wrote", GROUP.grown(catalog.SHARE_RECORDS, RANGE).sum(*labels)),
        Column("Seen on topics", seen.sum(*labels)),
        Column("Failed writes", failed, steps=ANY_IS_BAD),
    )


def connect_errors() -> AnyPanel:
    """What Connect skipped, beside what it wrote."""
    about = About(
        "Connect: skipped records and dead letters",
        "Records that a task passed over in the chosen time, and dead letters it wrote. More skipped than "
        "written: the rest is lost without a trace.",
        Page.CONNECT_TASKS,
        steps=NEUTRAL,
        width=12,
    )
    labels = ("kafka_cluster", "connector", "task")
    return rows(
        about,
        labels,
        Column("Skipped", CONNECTOR.grown(catalog.CONNECT_RECORDS_SKIPPED, RANGE).sum(*labels)),
        Column("Dead letters", CONNECTOR.grown(catalog.CONNECT_DLQ_REQUESTS, RANGE).sum(*labels)),
        Column(
            "Failed to write",
            CONNECTOR.grown(catalog.CONNECT_DLQ_FAILURES, RANGE).sum(*labels),
            steps=ANY_IS_BAD,
        ),
    )


BOARD: Final = Board(
    uid=UID,
    title="Deadwatch / Dead letters",
    description="Records that consumers gave up: how many wait, since when, of which topic and cause.",
    rows=(
        Row(NOW, (unhandled(), arrived(), oldest(), lost())),
        Row(SINCE_WHEN, (inflow_by_topic(), backlog())),
        Row(WHICH, (topics(), causes())),
        Row(DETAILS, (by_connector(), by_group(), share_groups(), connect_errors())),
    ),
    choices=(
        Choice("topic", "Dead letter topic", catalog.DEAD_LETTER_BACKLOG, "dlq_topic"),
        Choice("connector", "Connector", catalog.DEAD_LETTERS, "connector"),
        Choice("consumergroup", "Consumer group", catalog.DEAD_LETTERS, "consumergroup"),
    ),
)
