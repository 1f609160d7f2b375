"""``tests/unit/deadwatch/store/test_replacement.py`` on PostgreSQL, where a statement's time is limited."""

import pytest
from sqlalchemy import text

from deadwatch.store import engine as engines
from deadwatch.store.store import Store
from tests.unit.deadwatch.store.test_replacement import *  # noqa: F403 -- every test and fixture of the suite
from tests.unit.deadwatch.store.test_replacement import NEW

SLOWLY = (
    "CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql"
    " AS 'BEGIN PERFORM pg_sleep(0.2); RETURN NULL; END'",
    "CREATE TRIGGER slowly BEFORE DELETE ON buckets EXECUTE FUNCTION slowly()",
)


def test_it_may_take_longer_than_any_other_statement(
    url: str, store: Store, shadow: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store.transaction() as connection:
        for statement in SLOWLY:
            connection.execute(text(statement))
    monkeypatch.setattr(engines, "POSTGRESQL", {"options": "-c statement_timeout=100ms"})
    shadow.apply(NEW)
    with Store(url) as impatient:
        impatient.replace_with(shadow)
    assert store.offsets() == NEW.offsets
