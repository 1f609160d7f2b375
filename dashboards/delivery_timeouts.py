"""Deliveries that expired (KIP-91), other timeouts of clients, and backoff that is set wrong (KIP-580)."""

from typing import Final

from api.metrics import catalog
from dashboards.frame import RANGE, SCOPE, Board, Choice
from dashboards.panels import ANY_IS_BAD, ANY_IS_ODD, AnyPanel, Column, Page, curves, rows

TOPIC: Final = SCOPE.narrowed(topic="$topic")
MOST_CLIENTS: Final = 20


def client_timeouts(title: str, text: str) -> AnyPanel:
    """The table of clients that timed out, and at what; their ids are long and differ at the end."""
    labels = ("kind", "client_id")
    grown = SCOPE.grown(catalog.CLIENT_TIMEOUTS, RANGE).sum(*labels).above(0).top(MOST_CLIENTS)
    column = Column("Timeouts", grown, steps=ANY_IS_ODD)
    return rows(title, text, labels, column, page=Page.OVERVIEW)


BOARD: Final = Board(
    uid="deadwatch-delivery-timeouts",
    title="Deadwatch / Delivery timeouts",
    description="Records that producers gave up after delivery.timeout.ms (KIP-91); other client timeouts.",
    page=Page.OVERVIEW,
    now=(),
    since_when=(
        curves(
            "Expired records by topic",
            "Records in each rate interval. One topic: its leaders; all topics: brokers or network.",
            TOPIC.grown(catalog.DELIVERY_TIMEOUT_RECORDS).sum("topic").above(0),
            bars=True,
            page=Page.DELIVERY_TIMEOUTS,
        ),
        curves(
            "Other timeouts by kind",
            "Timeouts in each rate interval.",
            SCOPE.grown(catalog.CLIENT_TIMEOUTS).sum("kind").above(0),
            bars=True,
        ),
    ),
    which=(
        rows(
            "Producers",
            "What each producer gave up in the chosen time, by topic and client.",
            ("kafka_cluster", "topic", "client_id", "client"),
            Column("Records", TOPIC.grown(catalog.DELIVERY_TIMEOUT_RECORDS, RANGE), steps=ANY_IS_BAD),
            Column("Batches", TOPIC.grown(catalog.DELIVERY_TIMEOUT_BATCHES, RANGE)),
            page=Page.DELIVERY_TIMEOUTS,
        ),
    ),
    details=(
        client_timeouts(
            "Other timeouts by client",
            "Timeouts of the chosen time. metadata: a topic or broker is missing; buffer: a producer is "
            "faster than its brokers.",
        ),
        rows(
            "Backoff set wrong, by client",
            "Warnings in the chosen time. Set retry.backoff.ms below retry.backoff.max.ms.",
            ("kafka_cluster", "client_id"),
            Column("Warnings", SCOPE.grown(catalog.RETRY_BACKOFF_MISCONFIGURED, RANGE), steps=ANY_IS_ODD),
        ),
    ),
    choices=(Choice("topic", "Topic", catalog.DELIVERY_TIMEOUT_RECORDS, "topic"),),
)
