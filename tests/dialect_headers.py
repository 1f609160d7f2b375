"""Headers of a dead letter in every dialect that is built in, as their writers write them."""

from tests.kafka_records import Headers

CONNECT: Headers = [
    ("__connect.errors.topic", b"orders"),
    ("__connect.errors.partition", b"2"),
    ("__connect.errors.offset", b"77"),
    ("__connect.errors.connector.name", b"sink"),
    ("__connect.errors.task.id", b"0"),
    ("__connect.errors.exception.class.name", b"org.example.DataException"),
    ("__connect.errors.exception.message", b"bad value at 77"),
]
SHARE: Headers = [
    ("__dlq.errors.topic", b"orders"),
    ("__dlq.errors.partition", b"1"),
    ("__dlq.errors.offset", b"5"),
    ("__dlq.errors.group", b"g1"),
    ("__dlq.errors.delivery.count", b"5"),
    ("__dlq.errors.message", b"Offset rejected by client."),
]
STREAMS: Headers = [
    ("__streams.errors.exception", b"org.example.StreamsException"),
    ("__streams.errors.message", None),
    ("__streams.errors.stacktrace", b"at x"),
    ("__streams.errors.topic", b"orders"),
    ("__streams.errors.partition", b"3"),
    ("__streams.errors.offset", b"9"),
]
SPRING: Headers = [
    ("kafka_dlt-original-topic", b"orders"),
    ("kafka_dlt-original-partition", b"\x00\x00\x00\x02"),
    ("kafka_dlt-original-offset", b"\x00\x00\x00\x00\x00\x00\x01\x00"),
    ("kafka_dlt-original-consumer-group", b"billing"),
    ("kafka_dlt-exception-fqcn", b"org.example.ListenerException"),
    ("kafka_dlt-exception-message", b"no account"),
]
SPRING_ORIGINAL: Headers = [
    (name.replace("dlt-original", "original").replace("dlt-exception", "exception"), value)
    for name, value in SPRING
    if not name.endswith("group")
]
LISTENER_FAILED = "org.springframework.kafka.listener.ListenerExecutionFailedException"
RETRIES_TRACE = (
    f"{LISTENER_FAILED}: Listener failed\n"
    "\tat org.springframework.kafka.listener.KafkaMessageListenerContainer.run(Container.java:1368)\n"
    "Caused by: org.springframework.kafka.listener.TimestampedException: Exception thrown at 2026-11-24\n"
    "\tat org.springframework.kafka.listener.adapter.KafkaBackoffAwareMessageListenerAdapter.on(A.java:104)\n"
    "\t... 10 more\n"
    f"Caused by: {LISTENER_FAILED}: Listener method 'void a.Listener.order(a.Order)' threw exception\n"
    "\t... 12 more\n"
    "Caused by: org.example.AccountException: no account 7:\n at line 1\n"
    "\tat org.example.Listener.order(Listener.java:7)\n"
    "\tSuppressed: java.lang.IllegalStateException: closed\n"
    "\tCaused by: java.io.IOException: pipe\n"
    "\t... 19 more\n"
    "Caused by: java.sql.SQLException\n"
    "\t... 20 more\n"
)
SPRING_RETRIES: Headers = [
    ("kafka_original-topic", b"orders"),
    ("kafka_original-partition", b"\x00\x00\x00\x02"),
    ("kafka_original-offset", b"\x00\x00\x00\x00\x00\x00\x01\x00"),
    ("kafka_original-timestamp", b"\x00\x00\x01\xa2\r<=."),
    ("kafka_original-timestamp-type", b"CreateTime"),
    ("kafka_dlt-original-consumer-group", b"billing"),
    ("retry_topic-original-timestamp", b"\x01\xa2\r<=."),
    ("retry_topic-attempts", b"\x00\x00\x00\x02"),
    ("retry_topic-backoff-timestamp", b"\x01\xa2\r<[\xf2"),
    ("kafka_exception-fqcn", LISTENER_FAILED.encode()),
    ("kafka_exception-cause-fqcn", b"org.example.AccountException"),
    ("kafka_exception-message", b"Listener failed; no account 7:\n at line 1"),
    ("kafka_exception-stacktrace", RETRIES_TRACE.encode()),
    ("retry_topic-original-timestamp", b"\x01\xa2\r<=."),
    ("retry_topic-attempts", b"\x00\x00\x00\x03"),
    ("retry_topic-backoff-timestamp", b"\x01\xa2\r<]\xf3"),
]
"""At the end of ``@RetryableTopic`` with two retries, in the order that spring-kafka 4.0.7 writes."""
SPRING_DESERIALIZATION: Headers = [
    ("kafka_dlt-exception-fqcn", b"org.springframework.kafka.support.serializer.DeserializationException"),
    (
        "kafka_dlt-exception-cause-fqcn",
        b"org.springframework.kafka.support.serializer.DeserializationException",
    ),
    ("kafka_dlt-exception-message", b"failed to deserialize"),
    (
        "kafka_dlt-exception-stacktrace",
        b"org.springframework.kafka.support.serializer.DeserializationException: failed to deserialize\n"
        b"\tat java.base/java.lang.Thread.run(Thread.java:840)\n"
        b"Caused by: org.apache.kafka.common.errors.SerializationException: Size of data received is not 4\n"
        b"\tat org.apache.kafka.common.serialization.IntegerDeserializer.of(I.java:30)\n\t... 16 more",
    ),
    *SPRING[:4],
]
SPRING_KEY: Headers = [
    (name.replace("exception", "key-exception") if "cause" not in name else name, value)
    for name, value in SPRING_DESERIALIZATION
]
"""A key that cannot be read: its exception has headers of its own."""
SPRING_CLOUD_STREAM: Headers = [
    ("x-original-topic", b"orders"),
    ("x-original-partition", b"\x00\x00\x00\x02"),
    ("x-original-offset", b"\x00\x00\x00\x00\x00\x00\x01\x00"),
    ("x-original-timestamp", b"\x00\x00\x01\xa2\r<=."),
    ("x-original-timestamp-type", b"CreateTime"),
    ("x-exception-fqcn", b"org.springframework.messaging.MessageHandlingException"),
    ("x-exception-message", b"error occurred in message handler; no account"),
    (
        "x-exception-stacktrace",
        b"org.springframework.messaging.MessageHandlingException: error occurred in message handler\n"
        b"\tat java.base/java.lang.Thread.run(Thread.java:840)\n"
        b"Caused by: org.example.AccountException: no account\r\n\t... 9 more\r\n",
    ),
]
SMALLRYE: Headers = [
    ("dead-letter-exception-class-name", b"org.example.AccountException"),
    ("dead-letter-reason", b"no account"),
    ("dead-letter-cause-class-name", b"java.sql.SQLException"),
    ("dead-letter-cause", b"no row"),
    ("dead-letter-topic", b"orders"),
    ("dead-letter-partition", b"2"),
    ("dead-letter-offset", b"256"),
    ("tenant", b"7"),
]
SMALLRYE_RETRIES: Headers = [
    *((name.replace("dead-letter", "delayed-retry"), value) for name, value in SMALLRYE[:-1]),
    ("delayed-retry-original-timestamp", b"1764000000000"),
    ("delayed-retry-first-processing-timestamp", b"1764000000000"),
    ("delayed-retry-count", b"3"),
]
ARROYO: Headers = [("original_partition", b"2"), ("original_offset", b"256")]


def replaced(headers: Headers, name: str, value: bytes | None) -> Headers:
    return [(key, value if key.endswith(name) else old) for key, old in headers]
