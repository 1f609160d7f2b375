"""Which Jolokia agent belongs to a worker, by the template ``jolokia_url``.

A template without placeholders is the URL of one agent: right for a cluster of one worker. With several, its
answers would be taken for those of workers it knows nothing of, so nobody is asked.
"""

from collections.abc import Collection
from typing import Final

ONE_FOR_SEVERAL: Final = (
    "jolokia_url is the agent of one worker, but the cluster has several: none is asked; "
    "write {host} where the host of a worker's REST belongs"
)


def is_template(jolokia_url: str) -> bool:
    """Whether it gives every worker an agent of its own."""
    return "{" in jolokia_url


def one_for_several(jolokia_url: str, workers: Collection[str]) -> bool:
    """Whether it cannot be said whose agent it is."""
    return bool(jolokia_url) and not is_template(jolokia_url) and len(workers) > 1


def url_of(jolokia_url: str, worker: str) -> str:
    """The agent of ``worker``, which is HOST:PORT."""
    host, _, port = worker.rpartition(":")
    return jolokia_url.format(host=host, port=port)
