"""What the tests of redrives share."""

from tests.unit.deadwatch.store.suite import engine

__all__ = ["engine"]
