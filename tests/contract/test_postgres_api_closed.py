"""An api that has ended leaves no connection to its server open."""

from pathlib import Path

import psycopg

from api.settings import ApiSettings
from deadwatch.store.store import Store
from tests.operators import operator
from tests.waiting import until

SESSIONS = (
    "SELECT query FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    " AND backend_type = 'client backend'"
)
BY = {"X-Requested-By": "test"}


def test_whatever_an_api_has_written_its_connections_end_with_it(url: str, tmp_path: Path) -> None:
    Store(url).open().close()
    with psycopg.connect(url, autocommit=True) as looking:

        def sessions() -> list[tuple[str, ...]]:
            return looking.execute(SESSIONS).fetchall()

        with operator(ApiSettings(store_url=url), tmp_path) as api:
            written = [
                api.post("/api/v1/tokens", json={"name": "n", "role": "viewer"}, headers=BY),
                api.post("/api/v1/redrives/ffff/cancel", json={"reason": "r"}, headers=BY),
                api.delete("/api/v1/redrive-policies/ffff", headers=BY),
            ]
            assert [answer.status_code for answer in written] == [403, 404, 404]
            assert sessions() != []
        until(lambda: sessions() == [], sessions)
