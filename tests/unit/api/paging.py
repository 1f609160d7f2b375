"""Pages of a list of the api, one after the other."""

from collections.abc import Iterator

import httpx2


def pages(client: httpx2.Client, path: str, limit: int) -> Iterator[list[dict[str, object]]]:
    """The items of every page of a list."""
    after: dict[str, str] = {}
    while True:
        body = client.get(httpx2.URL(path).copy_merge_params({"limit": limit, **after})).json()
        yield body["items"]
        if body["next"] is None:
            return
        after = {"after": body["next"]}
