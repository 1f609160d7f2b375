"""``tests/unit/deadwatch/store/test_versions.py``, and what processes do about versions, on PostgreSQL."""

from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import Engine, text

from deadwatch.store import upgrades
from tests.processes.test_loaded import test_services_load_no_alembic_for_a_store_of_today
from tests.processes.test_store import test_a_migration_that_is_written_can_be_made_on_a_store_with_rows
from tests.unit.deadwatch.store.test_versions import *  # noqa: F403 -- every test and fixture of the suite
from tests.waiting import until

__all__ = [
    "test_a_migration_that_is_written_can_be_made_on_a_store_with_rows",
    "test_services_load_no_alembic_for_a_store_of_today",
]


def test_an_upgrade_and_who_uses_what_it_changes_do_not_wait_for_each_other(engine: Engine) -> None:
    """A batch and a scrape of metrics come to share groups before what collectors count."""
    upgrades.upgrade(engine, "0007")
    waiting = text("SELECT 1 FROM pg_locks WHERE NOT granted")
    with ThreadPoolExecutor(1) as pool:
        with engine.begin() as user, engine.connect() as other:
            user.execute(text("SELECT FROM share_groups"))
            upgraded = pool.submit(upgrades.upgrade, engine)
            until(lambda: other.scalar(waiting))
            user.execute(text("SELECT FROM collector_counts"))
        upgraded.result()
