"""Dead letters of share groups that brokers could not write (KIP-1191)."""

from dataclasses import dataclass
from typing import ClassVar, Final

from deadwatch.contract.signals.signal import Alert, Event, Severity, Signal


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareDeadLetterLost(Event):
    """A broker archived a share-group record although its dead letter could not be written (KIP-1191)."""

    kind: ClassVar[str] = "share_dead_letter_lost"
    consumergroup: str
    message: str


SHARE_DEAD_LETTERS_LOST: Final = Signal(
    series="share_dead_letters_lost",
    metric="deadwatch_share_group_dead_letters_lost_total",
    event=ShareDeadLetterLost,
    labels=("consumergroup",),
    help="Times a broker archived share-group records although their dead letters could not be written. 0: "
    "none is known to be lost. More: these records are on no topic; read the broker's log for the "
    "exception.",
    board="deadwatch-dead-letters",
    title="Dead letters of share groups lost",
    alert=Alert(
        "DeadwatchShareGroupDeadLettersLost",
        Severity.CRITICAL,
        ("consumergroup",),
        "Dead letters of share group {consumergroup} are lost",
        "A broker of cluster {kafka_cluster} archived records {count} times although their "
        "dead letters could not be written. They are on no topic; the broker's log has the exception.",
    ),
)
