"""Deliveries that expired (KIP-91), other timeouts of clients, and backoff that is set wrong (KIP-580)."""

from typing import Final

from api.metrics import catalog
from dashboards import shared
from dashboards.frame import DETAILS, NOW, RANGE, SCOPE, SINCE_WHEN, WHICH, Board, Choice, Row
from dashboards.panels import (
    ANY_IS_BAD,
    ANY_IS_ODD,
    NEUTRAL,
    About,
    AnyPanel,
    Column,
    Page,
    curves,
    number,
    rows,
)
from dashboards.shared import in_this_time

UID: Final = "deadwatch-delivery-timeouts"
TOPIC: Final = SCOPE.narrowed(topic="$topic")


def records() -> AnyPanel:
    """Records given up."""
    about = About(
        "Records expired",
        "Records that producers gave up after delivery.timeout.ms in the chosen time; the application has "
        "to send "
        "each again or loses it.",
        Page.DELIVERY_TIMEOUTS,
    )
    return number(about, in_this_time(TOPIC, catalog.DELIVERY_TIMEOUT_RECORDS))


def batches() -> AnyPanel:
    """Batches given up."""
    about = About("Batches expired", "Batches of these records in the chosen time.", Page.DELIVERY_TIMEOUTS)
    return number(about, in_this_time(TOPIC, catalog.DELIVERY_TIMEOUT_BATCHES))


def others() -> AnyPanel:
    """Timeouts of other kinds."""
    about = About(
        "Other client timeouts",
        "Metadata, buffer, commit, request and poll timeouts that clients logged in the chosen time.",
        Page.OVERVIEW,
        steps=ANY_IS_ODD,
    )
    return number(about, in_this_time(SCOPE, catalog.CLIENT_TIMEOUTS))


def misconfigured() -> AnyPanel:
    """Clients whose backoff does not grow."""
    about = About(
        "Backoff set wrong",
        "Warnings in the chosen time that retry.backoff.ms is above retry.backoff.max.ms: such a client "
        "hammers a "
        "broker that recovers.",
        Page.OVERVIEW,
        steps=ANY_IS_ODD,
    )
    return number(about, in_this_time(SCOPE, catalog.RETRY_BACKOFF_MISCONFIGURED))


def by_topic() -> AnyPanel:
    """When, and to which topic."""
    about = About(
        "Expired records by topic",
        "Records in each rate interval. One topic: its leaders; all topics: brokers or network.",
        Page.DELIVERY_TIMEOUTS,
        steps=NEUTRAL,
        width=12,
    )
    return curves(
        about, TOPIC.grown(catalog.DELIVERY_TIMEOUT_RECORDS).sum("topic").above(0), "{{topic}}", bars=True
    )


def kinds() -> AnyPanel:
    """When, and of which kind."""
    about = About(
        "Other timeouts by kind", "Timeouts in each rate interval.", Page.OVERVIEW, steps=NEUTRAL, width=12
    )
    return curves(about, SCOPE.grown(catalog.CLIENT_TIMEOUTS).sum("kind").above(0), "{{kind}}", bars=True)


def producers() -> AnyPanel:
    """Who lost what."""
    about = About(
        "Producers",
        "What each producer gave up in the chosen time, by topic and client.",
        Page.DELIVERY_TIMEOUTS,
        steps=NEUTRAL,
        width=24,
    )
    labels = ("kafka_cluster", "topic", "client_id", "client")
    return rows(
        about,
        labels,
        Column(
            "Records", TOPIC.grown(catalog.DELIVERY_TIMEOUT_RECORDS, RANGE).sum(*labels), steps=ANY_IS_BAD
        ),
        Column("Batches", TOPIC.grown(catalog.DELIVERY_TIMEOUT_BATCHES, RANGE).sum(*labels)),
    )


def clients() -> AnyPanel:
    """Other timeouts, by client."""
    text = (
        "Timeouts of the chosen time. metadata: a topic or broker is missing; buffer: a producer is faster "
        "than its brokers."
    )
    return shared.client_timeouts("Other timeouts by client", text)


def backoffs() -> AnyPanel:
    """Whose backoff to set right."""
    about = About(
        "Backoff set wrong, by client",
        "Warnings in the chosen time. Set retry.backoff.ms below retry.backoff.max.ms.",
        Page.OVERVIEW,
        steps=NEUTRAL,
        width=12,
    )
    labels = ("kafka_cluster", "client_id")
    warned = SCOPE.grown(catalog.RETRY_BACKOFF_MISCONFIGURED, RANGE).sum(*labels)
    return rows(about, labels, Column("Warnings", warned, steps=ANY_IS_ODD))


BOARD: Final = Board(
    uid=UID,
    title="Deadwatch / Delivery timeouts",
    description="Records that producers gave up after delivery.timeout.ms (KIP-91); other client timeouts.",
    rows=(
        Row(NOW, (records(), batches(), others(), misconfigured())),
        Row(SINCE_WHEN, (by_topic(), kinds())),
        Row(WHICH, (producers(),)),
        Row(DETAILS, (clients(), backoffs())),
    ),
    choices=(Choice("topic", "Topic", catalog.DELIVERY_TIMEOUT_RECORDS, "topic"),),
)
