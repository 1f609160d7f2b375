"""Why the store is refused; the text says why and what to do.

* StoreError             the store cannot be used: of another version, foreign
  * DamagedError         what it holds contradicts itself
  * HeldError            another stream writes it
  * FencedError          another stream has taken it over since
    * RebuiltError       a backfill has put new counts into it: the stream begins anew
"""


class StoreError(Exception):
    """The store cannot be used; the text says why and what to do."""


class DamagedError(StoreError):
    """What the store holds contradicts itself, or cannot be read."""


class HeldError(StoreError):
    """Another stream writes this store."""

    def __init__(self, holder: str) -> None:
        super().__init__(
            f"another stream writes this store ({holder}): stop it, or give this one a store_url of its own"
        )


class FencedError(StoreError):
    """This process held the store once; another has taken it over, and nothing more is written from here."""

    def __init__(self, holder: str) -> None:
        super().__init__(f"the store was taken over by {holder or 'another stream'}: this stream ends")


class RebuiltError(FencedError):
    """A backfill has put new counts into the store: this process knows only the old ones."""

    def __init__(self) -> None:
        StoreError.__init__(
            self, "the store was rebuilt by a backfill: the stream ends and has to begin anew"
        )
