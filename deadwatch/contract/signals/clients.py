"""What Kafka clients log: batches given up (KIP-91), other timeouts, backoff set wrongly (KIP-580)."""

from dataclasses import dataclass
from typing import ClassVar, Final

from deadwatch.contract.signals.signal import Alert, Event, Severity, Signal

_BOARD: Final = "deadwatch-delivery-timeouts"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryTimeout(Event):
    """A batch of ``records`` was not delivered within ``delivery.timeout.ms`` (KIP-91).

    ``client`` is the library: java, kafka-python or librdkafka.
    """

    kind: ClassVar[str] = "delivery_timeout"
    client: str
    client_id: str
    topic: str
    partition: int
    records: int
    elapsed_ms: int
    message: str


_PAGE: Final = "/api/v1/delivery-timeouts"

DELIVERY_TIMEOUT_RECORDS: Final = Signal(
    series="delivery_timeout_records",
    metric="deadwatch_delivery_timeout_records_total",
    event=DeliveryTimeout,
    labels=("topic", "client_id", "client"),
    counts_records=True,
    help="Records in batches that a producer gave up after delivery.timeout.ms. 0: none. More: the "
    "application must send each again or lose it; look at the topic's leaders and the producer's "
    "load.",
    board=_BOARD,
    title="Records expired",
    text="Records that producers gave up after delivery.timeout.ms in the chosen time; the application has "
    "to send each again or loses it.",
    page=_PAGE,
    alert=Alert(
        "DeadwatchDeliveryTimeouts",
        Severity.CRITICAL,
        ("topic", "client_id"),
        "{count} records to {topic} expired at {client_id}",
        "The producer gave them up after delivery.timeout.ms on cluster {kafka_cluster}: the "
        "application sends each again, or it is lost. Look at the topic's leaders and the producer's load.",
    ),
)
DELIVERY_TIMEOUT_BATCHES: Final = Signal(
    series="delivery_timeout_batches",
    metric="deadwatch_delivery_timeout_batches_total",
    event=DeliveryTimeout,
    labels=("topic", "client_id", "client"),
    help="Batches that a producer gave up after delivery.timeout.ms. 0: every batch had an outcome in "
    "time. More: their records were refused to the application; look at the topic's leaders and the "
    "producer's load.",
    board=_BOARD,
    title="Batches expired",
    text="Batches of these records in the chosen time.",
    page=_PAGE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientTimeout(Event):
    """Another timeout of a client; ``timeout`` is metadata, buffer, commit, request or poll."""

    kind: ClassVar[str] = "client_timeout"
    client: str
    client_id: str
    timeout: str
    message: str


CLIENT_TIMEOUTS: Final = Signal(
    series="client_timeouts",
    metric="deadwatch_client_timeouts_total",
    event=ClientTimeout,
    labels=("client_id", "kind"),
    help="Other timeouts of Kafka clients, by kind: metadata, buffer, commit, request, poll. 0: none was "
    "logged. More: metadata points to a missing topic or broker, buffer to a producer faster than its "
    "brokers.",
    board=_BOARD,
    title="Other client timeouts",
    text="Metadata, buffer, commit, request and poll timeouts that clients logged in the chosen time.",
    odd=True,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryBackoffMisconfigured(Event):
    """A client warned that its initial backoff is above the maximum (KIP-580)."""

    kind: ClassVar[str] = "retry_backoff_misconfigured"
    client_id: str
    message: str


RETRY_BACKOFF_MISCONFIGURED: Final = Signal(
    series="retry_backoff_misconfigured",
    metric="deadwatch_retry_backoff_misconfigured_total",
    event=RetryBackoffMisconfigured,
    labels=("client_id",),
    help="Warnings of a client that its initial backoff is above the maximum. 0: none. More: it waits the "
    "same time after every failure; set retry.backoff.ms below retry.backoff.max.ms.",
    board=_BOARD,
    title="Backoff set wrong",
    text="Warnings in the chosen time that retry.backoff.ms is above retry.backoff.max.ms: such a client "
    "hammers a broker that recovers.",
    odd=True,
    alert=Alert(
        "DeadwatchBackoffMisconfigured",
        Severity.INFO,
        ("client_id",),
        "Client {client_id} backs off by a constant time",
        "Its retry.backoff.ms is above retry.backoff.max.ms (cluster {kafka_cluster}), so waits "
        "do not grow and it hammers a broker that recovers. Set the first below the second.",
        window="1h",
    ),
)
