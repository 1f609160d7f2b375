"""Errors of the api, of tokens and of redrive orders, and the HTTP status of each.

* ApiError
  * StoreUnavailableError     the store cannot be read: not there yet, locked, damaged
  * StoreVersionError         the store was written by another version of this program
  * InvalidCursorError        ``after`` is not a cursor that a page of this list gave out
  * UnexpectedParameterError  a query parameter that the route does not know
  * UnsupportedMediaTypeError a body of another kind than JSON
  * InvalidSeriesError        a chart of what is not kept
  * UnknownGroupError         no group of dead letters has this fingerprint
  * NoteChangedError          the note has been changed since it was read
  * UnknownTopicError         the topic holds no dead letters that may be browsed, or is not there
  * UnknownRecordError        no record has this offset any more, or never had
  * InvalidSelectionError     what is asked of a dead letter topic contradicts itself
  * BrowseBusyError           as many readings of Kafka as are allowed are under way
  * LiveBusyError             as many watch live events as may
  * UnauthenticatedError      nobody said who they are, or the credentials are not valid
  * ForbiddenError            who asks has not the role
  * ThrottledError            too many credentials from one address were not valid
  * IdentityProviderError     the keys of the identity provider cannot be had
"""

from collections.abc import Mapping
from typing import ClassVar, Final

from streaming.redrive.errors import (
    ConfirmError,
    FilterError,
    IdempotencyError,
    KafkaUnavailableError,
    OrderOverlapError,
    OrderStateError,
    PolicyChangedError,
    RedriveError,
    RefusedOrderError,
    UnknownOrderError,
    UnknownPolicyError,
    UnreadHistoryError,
)
from streaming.store.tokens import TokenError, TooManyTokensError, UnknownTokenError

CHALLENGE: Final = 'Bearer realm="deadwatch"'


class ApiError(Exception):
    """Something the client is told in one sentence; ``kind`` and ``title`` never change."""

    kind: ClassVar[str]
    title: ClassVar[str]

    @property
    def headers(self) -> Mapping[str, str]:
        """What the answer carries beside the problem."""
        return {}


class StoreUnavailableError(ApiError):
    """The store cannot be read; the text says why and what to do."""

    kind = "store-unavailable"
    title = "The store cannot be read"


class StoreVersionError(ApiError):
    """The store's schema is not the one this program knows."""

    kind = "store-version"
    title = "The store has another schema version"

    def __init__(self, found: str, known: str) -> None:
        super().__init__(
            f"the store has version {found}, this program knows {known}: run streaming and api of the same "
            "version"
        )
        self.found = found


class InvalidCursorError(ApiError):
    """A cursor we did not give out."""

    kind = "invalid-cursor"
    title = "The cursor is not valid"

    def __init__(self) -> None:
        super().__init__("'after' is not the 'next' of a page of this list: begin again without it")


class UnexpectedParameterError(ApiError):
    """A query parameter where none is known."""

    kind = "unexpected-parameter"
    title = "The query has a parameter that this route does not know"

    def __init__(self, name: str) -> None:
        super().__init__(f"this route has no query parameter {name[:100]!r}: leave it out")
        self.name = name


class InvalidSeriesError(ApiError):
    """A question that the time buckets cannot answer."""

    kind = "invalid-series"
    title = "This series cannot be told"

    def __init__(self, parameter: str, reason: str) -> None:
        super().__init__(f"{parameter}: {reason}")
        self.parameter = parameter


class UnsupportedMediaTypeError(ApiError):
    """A body of another kind than JSON."""

    kind = "unsupported-media-type"
    title = "The body is not JSON"

    def __init__(self, media_type: str) -> None:
        super().__init__(f"a body has to say 'Content-Type: application/json', not {media_type[:100]!r}")
        self.media_type = media_type


class UnknownGroupError(ApiError):
    """No such group."""

    kind = "unknown-group"
    title = "There is no such group of dead letters"

    def __init__(self, fingerprint: str) -> None:
        super().__init__(f"no group of dead letters has the fingerprint {fingerprint!r}")
        self.fingerprint = fingerprint


class NoteChangedError(ApiError):
    """Somebody else was faster, or ``If-Match`` is no ETag."""

    kind = "group-note-changed"
    title = "The note is of another version"

    def __init__(self, fingerprint: str, version: int, expected: str) -> None:
        super().__init__(
            f"the note of group {fingerprint} is at version {version}, If-Match asks for {expected[:100]}: "
            "read it again, then change it"
        )


class UnknownTopicError(ApiError):
    """Not to be browsed; whether such a topic exists is not told."""

    kind = "unknown-dead-letter-topic"
    title = "There is no such dead letter topic"

    def __init__(self, topic: str, partition: int | None = None) -> None:
        if partition is None:
            said = (
                f"{topic!r} is no topic that holds dead letters or parked records, or we may not see it; "
                "/api/v1/dead-letters/topics lists them, dlq_topics in the settings adds one"
            )
        else:
            said = f"{topic!r} has no partition {partition}"
        super().__init__(said)
        self.topic = topic


class UnknownRecordError(ApiError):
    """Nothing is there."""

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


class InvalidSelectionError(ApiError):
    """A selection of records that cannot be."""

    kind = "invalid-selection"
    title = "The selection of records contradicts itself"

    def __init__(self, parameter: str, reason: str) -> None:
        super().__init__(f"{parameter}: {reason}")
        self.parameter = parameter


class BrowseBusyError(ApiError):
    """Every place is taken."""

    kind = "browse-busy"
    title = "Too many readings of Kafka are under way"

    def __init__(self, readers: int) -> None:
        super().__init__(f"{readers} readings are under way, as many as browse_max_readers allows: try again")

    @property
    def headers(self) -> Mapping[str, str]:
        """When to come again."""
        return {"Retry-After": "1"}


class LiveBusyError(ApiError):
    """Every place is taken."""

    kind = "live-busy"
    title = "Too many watch live events"

    def __init__(self, clients: int) -> None:
        super().__init__(f"{clients} watch already, as many as live_max_clients allows: try again later")

    @property
    def headers(self) -> Mapping[str, str]:
        """When to come again."""
        return {"Retry-After": "10"}


class UnauthenticatedError(ApiError):
    """No credentials where some are needed, or ``invalid`` ones: why, without showing them."""

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
        """How to say who one is (RFC 6750)."""
        return {"WWW-Authenticate": f'{CHALLENGE}, error="invalid_token"' if self.invalid else CHALLENGE}


class ForbiddenError(ApiError):
    """The role is not enough; without one ``role`` is None."""

    kind = "forbidden"
    title = "The role does not allow it"

    def __init__(self, role: str | None, needed: str) -> None:
        has = f"your role is {role}" if role else "you have no role here"
        super().__init__(f"this needs the role {needed}, {has}: ask an admin for a token that has it")

    @property
    def headers(self) -> Mapping[str, str]:
        """That other credentials would do (RFC 6750)."""
        return {"WWW-Authenticate": f'{CHALLENGE}, error="insufficient_scope"'}


class ThrottledError(ApiError):
    """The credentials are not valid, like too many before them."""

    kind = "too-many-failures"
    title = "Too many credentials were not valid"

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(
            f"too many credentials from your address were not valid: try again in {retry_after_s} s"
        )
        self.retry_after_s = retry_after_s

    @property
    def headers(self) -> Mapping[str, str]:
        """When to come again."""
        return {"Retry-After": str(self.retry_after_s)}


class IdentityProviderError(ApiError):
    """Whether a JWT is valid cannot be told now."""

    kind = "identity-provider-unavailable"
    title = "The identity provider cannot be asked"

    @property
    def headers(self) -> Mapping[str, str]:
        """When to come again."""
        return {"Retry-After": "10"}


STATUS: dict[type[ApiError], int] = {
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
    UnauthenticatedError: 401,
    ForbiddenError: 403,
    ThrottledError: 429,
    IdentityProviderError: 503,
}

TOKEN_STATUS: dict[type[TokenError], int] = {UnknownTokenError: 404, TooManyTokensError: 409}

REDRIVE_STATUS: dict[type[RedriveError], int] = {
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
