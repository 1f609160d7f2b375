"""Dead letters: how many wait, since when, on which topic and for which cause, and whether any were lost."""

from typing import Final

from api.metrics import catalog
from dashboards import figures
from dashboards.figures import in_this_time
from dashboards.frame import RANGE, SCOPE, Board, Choice
from dashboards.panels import (
    ANY_IS_BAD,
    ANY_IS_ODD,
    ORANGE,
    RED,
    SECONDS,
    TIME,
    YELLOW,
    Column,
    Page,
    curves,
    number,
    ranking,
    rows,
)

TOPIC: Final = SCOPE.narrowed(dlq_topic="$topic")
CONNECTOR: Final = SCOPE.narrowed(connector="$connector")
GROUP: Final = SCOPE.narrowed(consumergroup="$consumergroup")
BY_TOPIC: Final = ("kafka_cluster", "dlq_topic")
HOURS = 3_600
BY_CAUSE: Final = ("error_class", "dlq_topic", "source_topic", "dialect", "consumergroup", "connector")

BOARD: Final = Board(
    uid="deadwatch-dead-letters",
    title="Deadwatch / Dead letters",
    description="Records that consumers gave up: how many wait, since when, of which topic and cause.",
    page=Page.TOPICS,
    now=(
        number(
            "Waiting for somebody",
            "Records on dead letter topics that were neither put back nor parked by a redrive. What "
            "other tools handle counts until its topic is cut.",
            TOPIC.or_zero(figures.unhandled(TOPIC).sum()),
            page=Page.GROUPS,
        ),
        number(
            "New in this time",
            "Dead letters that arrived in the chosen time range.",
            in_this_time(TOPIC, catalog.DEAD_LETTERS),
            page=Page.GROUPS,
        ),
        number(
            "Oldest record",
            "Age of the oldest record on any dead letter topic. When the topic's retention.ms is over, "
            "it is lost.",
            TOPIC.gauge(catalog.DEAD_LETTER_OLDEST).age().max(),
            unit=SECONDS,
            steps=((4 * HOURS, YELLOW), (24 * HOURS, ORANGE), (72 * HOURS, RED)),
        ),
        number(
            "Lost in this time",
            "Dead letters that could not be written: share-group records archived all the same, and "
            "writes of Connect sinks that failed. They are on no topic.",
            figures.lost(),
            page=Page.OVERVIEW,
        ),
    ),
    since_when=(
        curves(
            "Arrivals by topic",
            "Dead letters in each rate interval, by dead letter topic; a topic's very first ones are in it.",
            TOPIC.grown(catalog.DEAD_LETTERS).sum("dlq_topic").above(0),
            bars=True,
        ),
        curves(
            "On the topics",
            "Records on each dead letter topic, handled or not; it falls when retention or somebody deletes.",
            TOPIC.gauge(catalog.DEAD_LETTER_BACKLOG).sum("dlq_topic"),
        ),
    ),
    which=(
        rows(
            "Dead letter topics",
            "What each topic holds, what of it waits, when its oldest record was written, and what "
            "arrived in the chosen time.",
            BY_TOPIC,
            Column("Waiting", figures.unhandled(TOPIC), steps=ANY_IS_ODD),
            Column("On the topic", TOPIC.gauge(catalog.DEAD_LETTER_BACKLOG)),
            Column("New in this time", TOPIC.grown(catalog.DEAD_LETTERS, RANGE)),
            Column("Oldest", TOPIC.gauge(catalog.DEAD_LETTER_OLDEST).times(1000).min(*BY_TOPIC), unit=TIME),
            width=24,
        ),
        rows(
            "Causes",
            "Dead letters of the chosen time by exception class, with where they came from. The api "
            "groups them finer.",
            BY_CAUSE,
            Column(
                "New in this time",
                TOPIC.grown(catalog.DEAD_LETTERS, RANGE).sum(*BY_CAUSE).above(0),
                steps=ANY_IS_ODD,
            ),
            width=24,
            page=Page.GROUPS,
        ),
    ),
    details=(
        ranking(
            "By connector",
            "Dead letters of the chosen time that a connector wrote. Variable Connector narrows it.",
            CONNECTOR.grown(catalog.DEAD_LETTERS, RANGE).sum("connector").top(10),
            width=12,
            page=Page.CONNECT_TASKS,
        ),
        ranking(
            "By consumer group",
            "Dead letters of the chosen time that a consumer or share group gave up. Variable Consumer "
            "group narrows it.",
            GROUP.grown(catalog.DEAD_LETTERS, RANGE).sum("consumergroup").top(10),
            width=12,
            page=Page.GROUPS,
        ),
        rows(
            "Share groups: the brokers' count and ours",
            "What brokers say they wrote for a share group in the chosen time, what was seen on topics, "
            "and attempts that failed. Brokers ahead of topics: a topic is not read, was cut, or "
            "records are lost.",
            ("kafka_cluster", "consumergroup"),
            Column("Brokers wrote", GROUP.grown(catalog.SHARE_RECORDS, RANGE)),
            Column("Seen on topics", GROUP.grown(catalog.DEAD_LETTERS, RANGE, dialect="share_group")),
            Column("Failed writes", GROUP.grown(catalog.SHARE_FAILED_REQUESTS, RANGE), steps=ANY_IS_BAD),
            width=12,
        ),
        rows(
            "Connect: skipped records and dead letters",
            "Records that a task passed over in the chosen time, and dead letters it wrote. More "
            "skipped than written: the rest is lost without a trace.",
            ("kafka_cluster", "connector", "task"),
            Column("Skipped", CONNECTOR.grown(catalog.CONNECT_RECORDS_SKIPPED, RANGE)),
            Column("Dead letters", CONNECTOR.grown(catalog.CONNECT_DLQ_REQUESTS, RANGE)),
            Column("Failed to write", CONNECTOR.grown(catalog.CONNECT_DLQ_FAILURES, RANGE), steps=ANY_IS_BAD),
            width=12,
            page=Page.CONNECT_TASKS,
        ),
    ),
    choices=(
        Choice("topic", "Dead letter topic", catalog.DEAD_LETTER_BACKLOG, "dlq_topic"),
        Choice("connector", "Connector", catalog.DEAD_LETTERS, "connector"),
        Choice("consumergroup", "Consumer group", catalog.DEAD_LETTERS, "consumergroup"),
    ),
)
