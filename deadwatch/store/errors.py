"""Errors of the store; each text says why and what to do.

* StoreError             the store cannot be used: another version, or a foreign database
  * DamagedError         its content contradicts itself or cannot be read
  * OffsetsMovedError    a batch does not begin at its offsets: the query begins again from there
  * HeldError            another stream holds its lease
  * FencedError          another stream has taken it over since
    * RebuiltError       a backfill has replaced its counts: the stream begins anew
"""


class StoreError(Exception):
    """The store cannot be used; the text says why and what to do."""


class DamagedError(StoreError):
    """The store's content contradicts itself or cannot be read."""


class OffsetsMovedError(StoreError):
    """A batch does not begin at the store's offsets; nothing of it was merged."""

    def __init__(self, topic: str, partition: int, begins: int | None, stored: int | None) -> None:
        at, there = ("no offset" if offset is None else offset for offset in (begins, stored))
        super().__init__(
            f"{topic}-{partition}: the batch begins at {at}, the store is at {there}: nothing was merged"
        )


class HeldError(StoreError):
    """Another stream writes this store."""

    def __init__(self, holder: str) -> None:
        super().__init__(
            f"another stream writes this store ({holder}): stop it, or give this one a store_url of its own"
        )


class FencedError(StoreError):
    """This process held the store; another one has taken it over, and this one writes nothing more."""

    def __init__(self, holder: str) -> None:
        super().__init__(f"the store was taken over by {holder or 'another stream'}: this stream ends")


class RebuiltError(FencedError):
    """A backfill has put new counts into the store: this process knows only the old ones."""

    def __init__(self) -> None:
        StoreError.__init__(
            self, "the store was rebuilt by a backfill: the stream ends and has to begin anew"
        )
