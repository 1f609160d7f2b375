"""What SmallRye Reactive Messaging writes, which Quarkus uses (``KafkaDeadLetterQueue``, and
``KafkaDelayedRetryTopic`` where there are retries before).

Each strategy has a prefix of its own and the same names behind it. Both write their headers before those that
the record had: of a record that died twice the first ones are the newer. With retries the older are the
better ones, since every retry topic is named as an origin. A dialect of a user's own goes before both.
"""

from typing import Final

from deadwatch.deadletter.dialects.dialect import Dialect

WRAPPERS: Final = (
    "io.smallrye.reactive.messaging.providers.ProcessingException",
    "java.lang.reflect.InvocationTargetException",
)


def _strategy(prefix: str, *counters: str, newest_first: bool = False) -> Dialect:
    return Dialect(
        name="smallrye",
        source_topic=prefix + "topic",
        source_partition=prefix + "partition",
        source_offset=prefix + "offset",
        error_class=prefix + "exception-class-name",
        message=prefix + "reason",
        cause_class=prefix + "cause-class-name",
        cause_message=prefix + "cause",
        others=tuple(prefix + name for name in counters),
        wrappers=WRAPPERS,
        drop_headers=tuple(prefix + name for name in counters),
        newest_first=newest_first,
    )


DEAD_LETTER_QUEUE: Final = _strategy("dead-letter-", newest_first=True)
DELAYED_RETRY: Final = _strategy(
    "delayed-retry-", "count", "original-timestamp", "first-processing-timestamp"
)
