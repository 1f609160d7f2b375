"""Deadwatch itself: whether what the other dashboards show is whole and fresh."""

from typing import Final

from api.metrics import catalog
from dashboards import shared
from dashboards.frame import DETAILS, NOW, RANGE, SCOPE, SINCE_WHEN, WHICH, Board, Row
from dashboards.panels import (
    ANY_IS_BAD,
    ANY_IS_ODD,
    GREEN,
    NEUTRAL,
    ORANGE,
    PER_SECOND,
    RED,
    SECONDS,
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

UID: Final = "deadwatch-itself"
LATE: Final = ((10, ORANGE), (60, RED))
BEHIND: Final = ((1_000, ORANGE), (100_000, RED))


def readable() -> AnyPanel:
    """Whether figures are whole."""
    about = About(
        "Store",
        "Whether the last scrape read the whole store. If not, other panels miss figures.",
        Page.READINESS,
        steps=((0, RED), (1, GREEN)),
        width=4,
    )
    texts = {1.0: ("readable", GREEN), 0.0: ("not readable", RED)}
    return number(about, SCOPE.gauge(catalog.STORE_UP).min(), texts=texts)


def blind() -> AnyPanel:
    """How much is not seen."""
    about = About(
        "Sources down",
        "Logs, Connect clusters, brokers, processes that failed or are silent: what happens there is not "
        "seen.",
        Page.OVERVIEW,
        width=4,
    )
    return number(about, SCOPE.or_zero(SCOPE.gauge(catalog.SOURCE_UP).is_("==", 0).count()))


def lag() -> AnyPanel:
    """How old figures are."""
    about = About(
        "Lag",
        "Age of the newest event of the last batch when it was committed.",
        Page.OVERVIEW,
        unit=SECONDS,
        steps=LATE,
        width=4,
    )
    return number(about, SCOPE.gauge(catalog.PIPELINE_LAG).max())


def behind() -> AnyPanel:
    """How much is to be read."""
    about = About(
        "Records behind",
        "Offsets that streaming had still to read at its last look.",
        Page.OVERVIEW,
        steps=BEHIND,
        width=4,
    )
    return number(about, SCOPE.or_zero(SCOPE.gauge(catalog.STREAM_BEHIND).sum()))


def aside() -> AnyPanel:
    """Input not understood."""
    about = About(
        "Put aside",
        "Input of the chosen time that could not be read; it is on dlq.deadwatch and in no other figure.",
        Page.OVERVIEW,
        steps=ANY_IS_ODD,
        width=4,
    )
    return number(about, in_this_time(SCOPE, catalog.QUARANTINED))


def missed() -> AnyPanel:
    """Records gone unread."""
    about = About(
        "Missed",
        "Records of the chosen time that Kafka deleted before they were read, and dead letters of our own "
        "that "
        "were lost.",
        Page.OVERVIEW,
        width=4,
    )
    deleted = in_this_time(SCOPE, catalog.RECORDS_MISSED)
    lost = in_this_time(SCOPE, catalog.COLLECTOR_DEAD_LETTERS_LOST)
    return number(about, deleted.plus(lost))


def freshness() -> AnyPanel:
    """Lag and work, over time."""
    about = About(
        "Lag and batches",
        "How old the newest event was when its batch was committed, and how long the batch took.",
        Page.OVERVIEW,
        unit=SECONDS,
        steps=LATE,
        width=8,
    )
    return curves(
        about,
        SCOPE.gauge(catalog.PIPELINE_LAG).max(),
        "lag",
        (SCOPE.gauge(catalog.BATCH_DURATION).max(), "last batch"),
    )


def input_() -> AnyPanel:
    """Events, over time."""
    about = About(
        "Events counted",
        "Events a second by kind. A flat line while sources are up: nothing happens.",
        Page.OVERVIEW,
        unit=PER_SECOND,
        steps=NEUTRAL,
        width=8,
    )
    return curves(about, SCOPE.rate(catalog.EVENTS).sum("kind"), "{{kind}}")


def backlog() -> AnyPanel:
    """What is to be read, over time."""
    about = About(
        "Records behind by topic",
        "Offsets still to be read. Growing: streaming does not keep up, or is away.",
        Page.OVERVIEW,
        steps=BEHIND,
        width=8,
    )
    return curves(about, SCOPE.gauge(catalog.STREAM_BEHIND).sum("topic"), "{{topic}}")


def sources() -> AnyPanel:
    """Source by source."""
    text = "Everything that is watched, down first. What happens at a source that is down is not seen."
    return shared.sources("Sources", text, Page.OVERVIEW)


def failures() -> AnyPanel:
    """Why the query began again."""
    about = About(
        "Batches that failed",
        "Times in the chosen time that the query failed and began again where it was, by cause.",
        Page.OVERVIEW,
        steps=ANY_IS_ODD,
        width=6,
    )
    return ranking(about, SCOPE.grown(catalog.BATCH_FAILURES, RANGE).sum("cause"), "{{cause}}")


def phases() -> AnyPanel:
    """Where the time of a batch goes."""
    about = About(
        "Phases of a batch",
        "By Spark's names: addBatch reads, counts and writes the store; latestOffset is Kafka; walCommit and "
        "commitOffsets are the disk of the checkpoint.",
        Page.OVERVIEW,
        unit=SECONDS,
        steps=NEUTRAL,
        width=8,
    )
    return ranking(about, SCOPE.gauge(catalog.BATCH_PHASE_DURATION).max("phase"), "{{phase}}")


def quarantined() -> AnyPanel:
    """What was put aside, and why."""
    about = About(
        "Put aside, by reason",
        "Input of the chosen time that could not be read, by source and reason.",
        Page.OVERVIEW,
        steps=NEUTRAL,
        width=8,
    )
    labels = ("source", "reason")
    grown = SCOPE.grown(catalog.QUARANTINED, RANGE).sum(*labels)
    return rows(about, labels, Column("Entries", grown, steps=ANY_IS_ODD))


def limits() -> AnyPanel:
    """Where names were left out."""
    about = About(
        "Labels at their limit",
        "Counts of the chosen time that went to the label value other, by series: sums are right, names "
        "missing.",
        Page.OVERVIEW,
        steps=ANY_IS_BAD,
        width=8,
    )
    return ranking(about, SCOPE.grown(catalog.CARDINALITY_LIMITED, RANGE).sum("series"), "{{series}}")


def versions() -> AnyPanel:
    """Which program answers."""
    about = About(
        "Versions",
        "Which version answers; two for long: a deployment is half done.",
        Page.READINESS,
        steps=NEUTRAL,
        width=6,
    )
    version = SCOPE.gauge(catalog.BUILD_INFO).max("job", "version")
    return rows(about, ("job", "version"), Column("Answers", version))


def speed() -> AnyPanel:
    """How fast a backlog is worked off."""
    about = About(
        "Speed on a backlog",
        "Records a second of a recent batch. Records behind by this is the time until all is counted.",
        Page.OVERVIEW,
        unit=PER_SECOND,
        steps=NEUTRAL,
        width=24,
    )
    return curves(about, SCOPE.gauge(catalog.STREAM_RATE).max(), "records/s")


BOARD: Final = Board(
    uid=UID,
    title="Deadwatch / Deadwatch itself",
    description="Whether figures are whole and fresh: store, sources, pipeline, what was put aside.",
    rows=(
        Row(NOW, (readable(), blind(), lag(), behind(), aside(), missed())),
        Row(SINCE_WHEN, (freshness(), input_(), backlog())),
        Row(WHICH, (sources(), failures(), versions())),
        Row(DETAILS, (phases(), quarantined(), limits(), speed())),
    ),
)
