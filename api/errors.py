"""Errors of the api, and the HTTP status of each of them and of the errors of tokens and redrive orders."""

from collections.abc import Mapping
from typing import ClassVar, Final

from deadwatch.contract.errors import RequestError
from deadwatch.deadletter.filter.errors import FilterError
from deadwatch.orders.errors import (
    ConfirmError,
    IdempotencyError,
    KafkaUnavailableError,
    OrderOverlapError,
    OrderStateError,
    PolicyChangedError,
    RefusedOrderError,
    UnknownOrderError,
    UnknownPolicyError,
    UnreadHistoryError,
)
from deadwatch.store.write.tokens import TooManyTokensError, UnknownTokenError

CHALLENGE: Final = 'Bearer realm="deadwatch"'


class ApiError(Exception):
    """An error that the client sees as one sentence; ``kind`` and ``title`` never change.

    ``retry_after_s`` says when to come again; 0: the answer does not say.
    """

    kind: ClassVar[str]
    title: ClassVar[str]
    retry_after_s: int = 0

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers of the answer."""
        return {"Retry-After": str(self.retry_after_s)} if self.retry_after_s else {}


class StoreUnavailableError(ApiError):
    """The store cannot be read; the text says why and what to do."""

    kind = "store-unavailable"
    title = "The store cannot be read"


class StoreVersionError(ApiError):
    """The store's schema is not the one this program knows."""

    kind = "store-version"
    title = "The store has another schema version"


class InvalidCursorError(ApiError):
    """A cursor that no page of this list returned."""

    kind = "invalid-cursor"
    title = "The cursor is not valid"

    def __init__(self) -> None:
        super().__init__("'after' is not the 'next' of a page of this list: begin again without it")


class UnexpectedParameterError(ApiError):
    """A query parameter that the route does not know."""

    kind = "unexpected-parameter"
    title = "The query has a parameter that this route does not know"


class ParameterError(ApiError):
    """A parameter whose value cannot be, for a reason."""

    def __init__(self, parameter: str, reason: str) -> None:
        super().__init__(f"{parameter}: {reason}")


class InvalidSeriesError(ParameterError):
    """A query that the time buckets cannot answer."""

    kind = "invalid-series"
    title = "The time buckets cannot answer this query"


class UnsupportedMediaTypeError(ApiError):
    """A body of another kind than JSON."""

    kind = "unsupported-media-type"
    title = "The body is not JSON"


class UnknownGroupError(ApiError):
    """No group of dead letters has this fingerprint."""

    kind = "unknown-group"
    title = "There is no such group of dead letters"

    def __init__(self, fingerprint: str) -> None:
        super().__init__(f"no group of dead letters has the fingerprint {fingerprint!r}")


class NoteChangedError(ApiError):
    """The note was changed by somebody else since it was read."""

    kind = "group-note-changed"
    title = "The note is of another version"


class UnknownTopicError(ApiError):
    """The topic may not be browsed; the answer does not say whether it exists."""

    kind = "unknown-dead-letter-topic"
    title = "There is no such dead letter topic"

    def __init__(self, topic: str, partition: int | None = None) -> None:
        if partition is None:
            text = (
                f"{topic!r} is no topic that holds dead letters or parked records, or we may not see it; "
                "/api/v1/dead-letters/topics lists them, dlq_topics in the settings adds one"
            )
        else:
            text = f"{topic!r} has no partition {partition}"
        super().__init__(text)


class UnknownRecordError(ApiError):
    """There is no record at this offset."""

    kind = "unknown-record"
    title = "There is no such record"

    def __init__(self, topic: str, partition: int, offset: int, first: int, end: int) -> None:
        if offset < first:
            why = f"retention has removed it: the first offset is {first} now"
        elif offset >= end:
            why = f"the partition ends before {end}, or a transaction before it is still open"
        else:
            why = "it was compacted away, or is part of a transaction"
        super().__init__(f"{topic}, partition {partition} has no record at offset {offset}: {why}")


class InvalidSelectionError(ParameterError):
    """A selection of records that contradicts itself."""

    kind = "invalid-selection"
    title = "The selection of records contradicts itself"


class BrowseBusyError(ApiError):
    """As many readings of Kafka are under way as are allowed."""

    kind = "browse-busy"
    title = "Too many readings of Kafka are under way"
    retry_after_s = 1

    def __init__(self, readers: int) -> None:
        super().__init__(f"{readers} readings are under way, as many as browse_max_readers allows: try again")


class LiveBusyError(ApiError):
    """As many clients watch live events as are allowed."""

    kind = "live-busy"
    title = "Too many watch live events"
    retry_after_s = 10

    def __init__(self, clients: int, yours: int = 0) -> None:
        super().__init__(
            f"you watch {yours} times already, and one caller, or all anonymous ones together, may have half "
            "of live_max_clients: close one"
            if yours
            else f"{clients} watch already, as many as live_max_clients allows: try again later"
        )


class SearchBusyError(ApiError):
    """As many requests with a filter, for records or for a redrive are under way as are allowed."""

    kind = "search-busy"
    title = "Too many searches are under way"
    retry_after_s = 1

    def __init__(self, places: int, yours: int = 0) -> None:
        super().__init__(
            f"{yours} searches of yours are under way, and one caller, or all anonymous ones together, may "
            "have no more at one time: try again"
            if yours
            else f"{places} searches are under way, and no more are done at one time: try again"
        )


class UnauthenticatedError(ApiError):
    """Credentials are missing, or they are not valid: ``invalid`` says why, without showing them."""

    kind = "unauthenticated"
    title = "Who are you?"

    def __init__(self, needed: str = "", invalid: str = "") -> None:
        super().__init__(
            f"{invalid}: deadwatch token create makes a new one"
            if invalid
            else f"this needs a token with the role {needed}: send it as 'Authorization: Bearer dw_...'"
        )
        self.invalid = invalid

    @property
    def headers(self) -> Mapping[str, str]:
        """How to authenticate (RFC 6750)."""
        return {"WWW-Authenticate": f'{CHALLENGE}, error="invalid_token"' if self.invalid else CHALLENGE}


class ForbiddenError(ApiError):
    """The role of the caller is not enough; None: the caller has no role."""

    kind = "forbidden"
    title = "The role does not allow it"

    def __init__(self, role: str | None, needed: str) -> None:
        has = f"your role is {role}" if role else "you have no role here"
        super().__init__(f"this needs the role {needed}, {has}: ask an admin for a token that has it")

    @property
    def headers(self) -> Mapping[str, str]:
        """That credentials with another role are needed (RFC 6750)."""
        return {"WWW-Authenticate": f'{CHALLENGE}, error="insufficient_scope"'}


class ThrottledError(ApiError):
    """The credentials are not valid, and too many from the same address were not before."""

    kind = "too-many-failures"
    title = "Too many credentials were not valid"

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(
            f"too many credentials from your address were not valid: try again in {retry_after_s} s"
        )
        self.retry_after_s = retry_after_s


class IdentityProviderError(ApiError):
    """A JWT cannot be checked now, because the identity provider does not answer."""

    kind = "identity-provider-unavailable"
    title = "The identity provider cannot be asked"
    retry_after_s = 10


STATUSES: Final[Mapping[type[ApiError | RequestError], int]] = {
    StoreUnavailableError: 503,
    StoreVersionError: 503,
    InvalidCursorError: 400,
    UnexpectedParameterError: 422,
    InvalidSeriesError: 422,
    UnsupportedMediaTypeError: 415,
    UnknownGroupError: 404,
    NoteChangedError: 412,
    UnknownTopicError: 404,
    UnknownRecordError: 404,
    InvalidSelectionError: 422,
    BrowseBusyError: 429,
    LiveBusyError: 429,
    SearchBusyError: 429,
    UnauthenticatedError: 401,
    ForbiddenError: 403,
    ThrottledError: 429,
    IdentityProviderError: 503,
    UnknownTokenError: 404,
    TooManyTokensError: 409,
    UnknownOrderError: 404,
    UnknownPolicyError: 404,
    PolicyChangedError: 412,
    OrderStateError: 409,
    OrderOverlapError: 409,
    ConfirmError: 409,
    IdempotencyError: 422,
    RefusedOrderError: 422,
    FilterError: 422,
    KafkaUnavailableError: 503,
    UnreadHistoryError: 503,
}
