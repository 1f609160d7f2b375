"""One api for the tests of a module, as in ``tests/unit/api/routes``."""

from tests.unit.api.routes.conftest import client, directory, served, store_file

__all__ = ["client", "directory", "served", "store_file"]
