"""Which failures of kafka-python are timeouts: a call that got no answer in time (KIP-572).

A refusal, a lack of permission or a connection that was refused at once is an answer of its own and starts no
timer.
"""

from typing import Final

from kafka.errors import KafkaError, KafkaTimeoutError, NodeNotReadyError, RequestTimedOutError

from collector.sources.source import SourceDownError, SourceTimeoutError

TIMEOUTS: Final = (KafkaTimeoutError, RequestTimedOutError, NodeNotReadyError)
"""NodeNotReadyError: no connection to a broker came about within the time of the call."""


def down(call: str, text: str, error: KafkaError) -> SourceDownError:
    """What to raise for ``error``: where the time was up, one that says that ``call`` timed out."""
    return SourceTimeoutError(call, text) if isinstance(error, TIMEOUTS) else SourceDownError(text)
