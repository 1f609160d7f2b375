"""``tests/unit/deadwatch/store/test_versions.py`` on PostgreSQL."""

from tests.processes.test_loaded import test_services_load_no_alembic_for_a_store_of_today
from tests.unit.deadwatch.store.test_versions import *  # noqa: F403 -- every test and fixture of the suite

__all__ = ["test_services_load_no_alembic_for_a_store_of_today"]
