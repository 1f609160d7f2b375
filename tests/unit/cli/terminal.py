"""A terminal beside an api."""

from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner, Result

from cli.main import app


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
        return self.run("token", *arguments, "--on-store", "--data", str(self.data))
