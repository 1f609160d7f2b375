"""What every client on librdkafka can tell beside deliveries: errors, commits, ``max.poll.interval.ms``.

Without ``error_cb`` librdkafka logs its errors; so ours stands only where the application has one.
"""

from collections.abc import Iterable
from typing import Any, ClassVar, Final

from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition, cimpl

from collector.clients.observations import CommitFailed, TimedOut, Watch
from collector.clients.timeouts import LIBRDKAFKA, LIBRDKAFKA_TOO_LATE_TO_COMMIT, Timeout

CLIENT: Final = "librdkafka"
DEFAULT_CLIENT_ID: Final = "rdkafka"

Config = dict[str, Any]


class Teller:
    """Tells what befalls one client; puts itself between the application and its ``error_cb``."""

    def __init__(self, watch: Watch, config: Config, options: Config) -> None:
        self.client_id = str(config.get("client.id") or options.get("client_id") or DEFAULT_CLIENT_ID)
        self._watch = watch
        self._on_error = options.pop("error_cb", config.get("error_cb"))
        self._on_commit = options.pop("on_commit", config.get("on_commit"))
        if self._on_error is not None:
            config["error_cb"] = self.error

    def watch_commits(self, config: Config) -> None:
        """Stand between, or in, for the ``on_commit`` of asynchronous and automatic commits."""
        config["on_commit"] = self.committed

    def error(self, error: KafkaError) -> None:
        """``error_cb``."""
        self.failed(error)
        self._on_error(error)

    def committed(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        """``on_commit``."""
        if error is not None:
            self.commit_failed(error)
        if self._on_commit is not None:
            self._on_commit(error, partitions)

    def failed(self, error: KafkaError) -> None:
        """An error by itself: told when it is a timeout."""
        with self._watch:
            timeout = LIBRDKAFKA.get(error.name())
            if timeout is not None:
                self.timed_out(timeout, error.name(), error.str())

    def timed_out(self, timeout: Timeout, error: str, message: str) -> None:
        """Tell of a timeout."""
        self._watch.report(
            TimedOut(client=CLIENT, client_id=self.client_id, error=error, timeout=timeout, message=message)
        )

    def commit_failed(self, error: KafkaError) -> None:
        """Tell of a commit."""
        with self._watch:
            name = error.name()
            failed = CommitFailed(client=CLIENT, client_id=self.client_id, error=name, message=error.str())
            self._watch.commit_failed(failed, too_late=name in LIBRDKAFKA_TOO_LATE_TO_COMMIT)


class WatchedConsumer(cimpl.Consumer):
    """confluent-kafka's consumer; what it does stays as it is."""

    watch: ClassVar[Watch]

    def __init__(self, config: Config | None = None, /, **options: Any) -> None:  # noqa: ANN401 - as the library
        config = dict(config or {})
        self._teller = Teller(self.watch, config, options)
        self._teller.watch_commits(config)
        super().__init__(config, **options)

    def poll(self, *args: Any, **options: Any) -> Message | None:  # noqa: ANN401 - as the library
        """As ever."""
        message = super().poll(*args, **options)
        if message is not None:
            self._look_at((message,))
        return message

    def consume(self, *args: Any, **options: Any) -> list[Message]:  # noqa: ANN401 - as the library
        """As ever."""
        messages = super().consume(*args, **options)
        self._look_at(messages)
        return messages

    def commit(self, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - as the library
        """As ever."""
        try:
            return super().commit(*args, **options)
        except KafkaException as error:
            self._teller.commit_failed(error.args[0])
            raise

    def _look_at(self, messages: Iterable[Message]) -> None:
        for message in messages:
            error = message.error()
            if error is not None:
                self._teller.failed(error)
