"""``tests/unit/deadwatch/store/test_replacement.py`` on PostgreSQL, where a statement's time is limited."""

import pytest
from sqlalchemy import text

from deadwatch.store import engine as engines
from deadwatch.store.store import Store
from tests.unit.deadwatch.store.test_replacement import *  # noqa: F403 -- every test and fixture of the suite
from tests.unit.deadwatch.store.test_replacement import NEW


def test_it_may_take_longer_than_any_other_statement(
    postgres: str, shadow: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a database of its own: the rule would be there for other tests, too."""
    with Store(postgres) as store, store._engine.begin() as connection:
        connection.execute(text("CREATE RULE slowly AS ON DELETE TO buckets DO ALSO SELECT pg_sleep(1.2)"))
    monkeypatch.setattr(engines, "POSTGRESQL", {"options": "-c statement_timeout=1s"})
    shadow.apply(NEW)
    with Store(postgres) as impatient:
        impatient.replace_with(shadow)
        assert impatient.offsets() == NEW.offsets
