"""``deadwatch ready``: waits until a service answers and its processes work; what ``helm test`` runs.

A token goes along only where /metrics, which tells of the sources, asks for one.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import httpx2

from cli.api_client import ANONYMOUS, DONE, UNDONE, Credential, NotAllowedError, address, http_client

SOURCE_UP: Final = "deadwatch_source_up"
LOOK_S: Final = 0.5
TIMEOUT_S: Final = 5
FORBIDDEN: Final = (401, 403)


def run(
    url: str,
    token: Credential,
    sources: Sequence[str],
    *,
    within_s: int,
    now_s: Callable[[], float],
    pause_s: Callable[[float], None],
) -> int:
    """Poll until nothing is missing or time is up, then print the result; the exit code.

    Where /metrics asks for a token and there is none, sources are not looked at: the last line says so.

    Raises:
        UsageError: the address or the token cannot be one.
        NotAllowedError: /metrics refuses the token.
    """
    end_s = now_s() + within_s
    with http_client(url, TIMEOUT_S) as client:
        at = address(client)
        try:
            while missing := look(client, sources, token):
                if now_s() >= end_s:
                    for line in missing:
                        print(f"missing: {line}")
                    return UNDONE
                pause_s(LOOK_S)
        except NotAllowedError as error:
            if token.text:
                raise
            print(f"ready: {at}; sources are not looked at: {error}")
            return DONE
    print(f"ready: {at}" + "".join(f", {source}" for source in sources))
    return DONE


def look(client: httpx2.Client, sources: Sequence[str], token: Credential = ANONYMOUS) -> list[str]:
    """A line for each thing that is missing now.

    Raises:
        UsageError: the token cannot be one.
        NotAllowedError: /metrics needs another token.
    """
    try:
        readiness = client.get("/readyz")
        reasons = _reasons(readiness)
        if reasons or not readiness.is_success:
            return [f"/readyz answers {readiness.status_code}: {', '.join(reasons)}"]
        return _down(client, sources, token) if sources else []
    except httpx2.RequestError as error:
        return [f"no answer from {address(client)} ({error})"]


def _down(client: httpx2.Client, sources: Sequence[str], token: Credential) -> list[str]:
    scrape = client.get("/metrics")
    if scrape.status_code in FORBIDDEN and token.text:
        scrape = client.get("/metrics", headers=token.headers)
    if scrape.status_code in FORBIDDEN:
        needs = "refuses this token" if token.text else "needs a token"
        raise NotAllowedError(f"/metrics {needs}; {token.advice}")
    if not scrape.is_success:
        return [f"/metrics answers {scrape.status_code}"]
    # not at the top: `deadwatch up` stays in memory, and asks for no source
    from prometheus_client.parser import text_string_to_metric_families

    up = {
        sample.labels["source"]: sample.value
        for family in text_string_to_metric_families(scrape.text)
        for sample in family.samples
        if sample.name == SOURCE_UP
    }
    states = {source: _best(source, up) for source in sources}
    return [f"{source} {_state(value)}" for source, value in states.items() if not value]


def _best(source: str, up: Mapping[str, float]) -> float | None:
    """The best value of the source with this name, or of this kind: one worker that is up is enough."""
    found = [value for name, value in up.items() if name == source or name.startswith(f"{source}:")]
    return max(found, default=None)


def _state(value: float | None) -> str:
    return "has never been heard of: see its log" if value is None else "is down: see its log"


def _reasons(answer: httpx2.Response) -> list[str]:
    try:
        return [str(reason) for reason in answer.json().get("missing", [])]
    except (ValueError, AttributeError, TypeError):
        return ["it is not Deadwatch"]
