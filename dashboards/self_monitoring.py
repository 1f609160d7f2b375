"""Self-monitoring: whether what the other dashboards show of Kafka is whole and fresh."""

from typing import Final

from api.metrics import catalog
from dashboards.figures import in_this_time, now
from dashboards.frame import RANGE, SCOPE, Board
from dashboards.panels import (
    ANY_IS_BAD,
    ANY_IS_ODD,
    GREEN,
    ORANGE,
    PER_SECOND,
    RED,
    SECONDS,
    UP_OR_DOWN,
    AnyPanel,
    Column,
    Page,
    curves,
    number,
    ranking,
    rows,
)
from dashboards.promql import INSTALLATION

LATE: Final = ((10, ORANGE), (60, RED))
BEHIND: Final = ((1_000, ORANGE), (100_000, RED))


def sources(title: str, text: str, page: Page) -> AnyPanel:
    """The table of what Deadwatch watches, what is down first, half a screen wide."""
    up = SCOPE.gauge(catalog.SOURCE_UP).min("source", "kind")
    state = Column("State", up, texts=UP_OR_DOWN)
    return rows(title, text, ("source", "kind"), state, page=page, width=12, worst_first=False)


BOARD: Final = Board(
    uid="deadwatch-itself",
    title="Deadwatch / Deadwatch itself",
    description="Whether figures are whole and fresh: store, sources, pipeline, what was put aside.",
    page=Page.OVERVIEW,
    now=(
        number(
            "Store",
            "Whether the last scrape read the whole store. If not, other panels miss figures.",
            SCOPE.gauge(catalog.STORE_UP).min(),
            steps=((0, RED), (1, GREEN)),
            texts={1.0: ("readable", GREEN), 0.0: ("not readable", RED)},
            page=Page.READINESS,
        ),
        number(
            "Sources down",
            "Logs, Connect clusters, brokers, processes that failed or are silent: what happens there "
            "is not seen.",
            SCOPE.or_zero(SCOPE.gauge(catalog.SOURCE_UP).is_("==", 0).count()),
        ),
        number(
            "Lag",
            "Age of the newest event of the last batch when it was committed.",
            SCOPE.gauge(catalog.PIPELINE_LAG).max(),
            unit=SECONDS,
            steps=LATE,
        ),
        number(
            "Records behind",
            "Offsets that streaming had still to read at its last look.",
            now(SCOPE, catalog.STREAM_BEHIND),
            steps=BEHIND,
        ),
        number(
            "Put aside",
            "Input of the chosen time that could not be read; it is on dlq.deadwatch and in no other figure.",
            in_this_time(SCOPE, catalog.QUARANTINED),
            steps=ANY_IS_ODD,
        ),
        number(
            "Missed",
            "Records of the chosen time that Kafka deleted before they were read, and dead letters of "
            "our own that were lost.",
            in_this_time(SCOPE, catalog.RECORDS_MISSED).plus(
                in_this_time(SCOPE, catalog.COLLECTOR_DEAD_LETTERS_LOST)
            ),
        ),
    ),
    since_when=(
        curves(
            "Lag and batches",
            "How old the newest event was when its batch was committed, and how long the batch took.",
            (SCOPE.gauge(catalog.PIPELINE_LAG).max(), "lag"),
            (SCOPE.gauge(catalog.BATCH_DURATION).max(), "last batch"),
            unit=SECONDS,
            steps=LATE,
        ),
        curves(
            "Events counted",
            "Events a second by kind. A flat line while sources are up: nothing happens.",
            SCOPE.rate(catalog.EVENTS).sum("kind"),
            unit=PER_SECOND,
        ),
        curves(
            "Records behind by topic",
            "Offsets still to be read. Growing: streaming does not keep up, or is away.",
            SCOPE.gauge(catalog.STREAM_BEHIND).sum("topic"),
            steps=BEHIND,
        ),
    ),
    which=(
        sources(
            "Sources",
            "Everything that is watched, down first. What happens at a source that is down is not seen.",
            Page.OVERVIEW,
        ),
        ranking(
            "Batches that failed",
            "Times in the chosen time that the query failed and began again where it was, by cause.",
            SCOPE.grown(catalog.BATCH_FAILURES, RANGE).sum("cause"),
            steps=ANY_IS_ODD,
        ),
        rows(
            "Versions",
            "Which version answers; two for long: a deployment is half done.",
            (*INSTALLATION, "version"),
            Column("Answers", SCOPE.gauge(catalog.BUILD_INFO).max(*INSTALLATION, "version")),
            page=Page.READINESS,
        ),
    ),
    details=(
        ranking(
            "Phases of a batch",
            "By Spark's names: addBatch reads, counts and writes the store, where a large batch waits only "
            "for the one before it; latestOffset is Kafka; walCommit and commitOffsets are the disk of the "
            "checkpoint.",
            SCOPE.gauge(catalog.BATCH_PHASE_DURATION).max("phase"),
            unit=SECONDS,
        ),
        rows(
            "Put aside, by reason",
            "Input of the chosen time that could not be read, by source and reason.",
            ("source", "reason"),
            Column("Entries", SCOPE.grown(catalog.QUARANTINED, RANGE), steps=ANY_IS_ODD),
        ),
        ranking(
            "Labels at their limit",
            "Counts of the chosen time that went to the label value other, by series: sums are right, "
            "names missing.",
            SCOPE.grown(catalog.CARDINALITY_LIMITED, RANGE).sum("series"),
            steps=ANY_IS_BAD,
        ),
        curves(
            "Speed on a backlog",
            "Records a second of a recent batch. Records behind by this is the time until all is counted.",
            (SCOPE.gauge(catalog.STREAM_RATE).max(), "records/s"),
            unit=PER_SECOND,
            width=24,
        ),
    ),
)
