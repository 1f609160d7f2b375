"""A scrape of a store on PostgreSQL, where a query that fails ends its transaction."""

from pathlib import Path

import psycopg

from api.settings import ApiSettings
from deadwatch.store.store import Store
from tests.operators import caller


def test_what_cannot_be_read_is_withheld_and_the_rest_goes_on(url: str, tmp_path: Path) -> None:
    with Store(url) as store, psycopg.connect(url, autocommit=True) as others:
        store.note_source("s", "log", up=True, message="", now_ms=1)
        others.execute("DROP TABLE findings")
        with caller(ApiSettings(store_url=url), tmp_path, lambda: 1) as api:
            lines = api.get("/metrics").text.splitlines()
    assert 'deadwatch_source_up{kind="log",source="s"} 1.0' in lines
    assert "deadwatch_store_up 0.0" in lines
