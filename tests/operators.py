"""An operator on the service's own machine, as ``deadwatch up`` admits one."""

from collections.abc import Callable
from pathlib import Path

from fastapi import FastAPI
from fastapi.testclient import TestClient

from api.app import create_app
from api.settings import ApiSettings
from cli import local_token
from deadwatch.runtime.clock import clock_ms
from tests.caller import Caller

AT = "http://127.0.0.1:8000"


def settle(app: FastAPI) -> None:
    """Return when the api has written what it writes after its answers: when tokens were used."""
    app.state.service.tokens._background.submit(lambda: None).result()


def operator(settings: ApiSettings, directory: Path, now_ms: Callable[[], int] = clock_ms) -> TestClient:
    """A client of the api on ``settings``, with a new local token in ``directory``."""
    app, token = _on_this_machine(settings, directory, now_ms)
    return TestClient(
        app,
        AT,
        headers=_showing(token),
        client=("127.0.0.1", 50_000),
        raise_server_exceptions=False,
        follow_redirects=False,
    )


def caller(settings: ApiSettings, directory: Path, now_ms: Callable[[], int] = clock_ms) -> Caller:
    """As ``operator``, without another thread."""
    return caller_of(*_on_this_machine(settings, directory, now_ms))


def caller_of(app: FastAPI, token: str) -> Caller:
    """A client of the api on its own machine that shows this token."""
    return Caller(app, AT, headers=_showing(token), raising=False)


def _on_this_machine(
    settings: ApiSettings, directory: Path, now_ms: Callable[[], int]
) -> tuple[FastAPI, str]:
    file = directory / local_token.NAME
    local_token.make(file)
    app = create_app(settings.model_copy(update={"local_token_file": file}), now_ms)
    return app, local_token.find(file, AT)


def _showing(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}
