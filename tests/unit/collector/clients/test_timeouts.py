"""Every timeout of both libraries is classified: a release that brings another one fails here."""

import confluent_kafka
from kafka import errors

from collector.clients.observations import KAFKA_PYTHON, LIBRDKAFKA, LIBRDKAFKA_TOO_LATE_TO_COMMIT

KAFKA_PYTHON_REJECTED_SETTINGS = {errors.InvalidSessionTimeoutError, errors.InvalidTransactionTimeoutError}
"""Errors named like timeouts that are a broker's refusal of a setting."""
LIBRDKAFKA_REJECTED_SETTINGS = {"INVALID_SESSION_TIMEOUT", "INVALID_TRANSACTION_TIMEOUT"}


def test_no_timeout_of_kafka_python_is_unclassified() -> None:
    named_like_a_timeout = {
        cls
        for name, cls in vars(errors).items()
        if isinstance(cls, type)
        and issubclass(cls, errors.KafkaError)
        and ("Timeout" in name or "TimedOut" in name)
    }
    assert named_like_a_timeout - KAFKA_PYTHON_REJECTED_SETTINGS == set(KAFKA_PYTHON)


def test_no_timeout_of_librdkafka_is_unclassified() -> None:
    named_like_a_timeout = {
        name
        for name in vars(confluent_kafka.KafkaError)
        if any(sign in name for sign in ("TIMED_OUT", "TIMEOUT", "_MAX_POLL"))
    }
    assert named_like_a_timeout - LIBRDKAFKA_REJECTED_SETTINGS == set(LIBRDKAFKA)


def test_an_error_of_librdkafka_is_known_by_the_name_it_gives_itself() -> None:
    codes = vars(confluent_kafka.KafkaError)
    names = LIBRDKAFKA_REJECTED_SETTINGS | LIBRDKAFKA_TOO_LATE_TO_COMMIT
    assert {confluent_kafka.KafkaError(codes[name]).name() for name in names} == names
