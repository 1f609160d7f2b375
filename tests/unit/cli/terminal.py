"""A terminal beside an api, and what a terminal shows."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import httpx2
from rich.console import Console, RenderableType
from typer import testing
from typer.main import get_command
from typer.testing import CliRunner, Result

from cli.api_client import Api
from cli.main import app

command_line = cache(get_command)
"""A command line is made once: that reads every function of ours, and takes 8 ms."""
testing._get_command = command_line  # type: ignore[attr-defined]  # what CliRunner calls each time


def api_that(answers: Callable[[httpx2.Request], httpx2.Response]) -> Api:
    """An api at http://x, with a password that nobody is to see, that answers so."""
    transport = httpx2.MockTransport(answers)
    return Api(httpx2.Client(transport=transport, base_url="http://ann:s3cret@x"))


def printed(shown: RenderableType, width: int = 200) -> str:
    """What a terminal shows of it, a wide one unless said."""
    console = Console(width=width)
    with console.capture() as captured:
        console.print(shown)
    return captured.get()


@dataclass(frozen=True)
class Served:
    """The api on a port, and a terminal beside it."""

    url: str
    data: Path

    def run(self, *arguments: str, token: str = "", local: bool = True, columns: int = 200) -> Result:
        file = str(self.data / "token") if local else None
        environment = {"DEADWATCH_URL": self.url, "DEADWATCH_TOKEN": token, "DEADWATCH_TOKEN_FILE": file}
        return CliRunner().invoke(app, [*arguments], env={**environment, "COLUMNS": str(columns)})

    def on_store(self, *arguments: str) -> Result:
        """Without a token, which nothing on the store needs: a file of one that is not there is not read."""
        store = ("--on-store", "--data", str(self.data), "--token-file", "/nowhere")
        return self.run("token", *arguments, *store)
