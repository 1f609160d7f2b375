"""What every command that talks to the api has in common: how it reaches it, how it ends, how it prints.

Exit codes: 0 done, 1 refused by the service or not completed, 2 a wrong command line, 3 the token is missing
or its role is not enough, 4 no answer, 130 interrupted.
"""

import inspect
import json
import sys
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Table

from deadwatch import local_token
from deadwatch.api_client import DONE, INTERRUPTED, Api, RefusedError, connect
from deadwatch.service import DATA

Url = Annotated[str, typer.Option(envvar="DEADWATCH_URL", metavar="URL", help="Of the service.")]
Token = Annotated[
    str,
    typer.Option(envvar="DEADWATCH_TOKEN", metavar="TOKEN", help="Better in the variable."),
]
TokenFile = Annotated[
    Path,
    typer.Option(envvar="DEADWATCH_TOKEN_FILE", metavar="FILE", help="Unless there is --token."),
]
Json = Annotated[bool, typer.Option("--json", help="The api's answer as JSON.")]
Limit = Annotated[int, typer.Option(min=1, max=100_000, help="How many at most, the newest first.")]

AT: Final = "http://127.0.0.1:8000"
OPTIONS: Final = (("url", Url, AT), ("token", Token, ""), ("token_file", TokenFile, DATA / local_token.NAME))
EXIT_CODES: Final = (
    "Exit codes: 0 done, 1 refused or not completed, 2 wrong command line, 3 token missing or not enough, "
    "4 no answer, 130 interrupted."
)
Answer = Mapping[str, Any]


def reach(url: str, token: str, token_file: Path) -> Api:
    """The api as the options say. Raises ``SaidError``."""
    return connect(url, token or local_token.find(token_file, url))


def of_api(command: Callable[..., int]) -> Callable[..., None]:
    """A command for Typer: ``command`` gets the api that the options name, and returns the exit code."""

    @wraps(command)
    def run(url: str, token: str, token_file: Path, **said: object) -> None:
        def work() -> int:
            with reach(url, token, token_file) as api:
                return command(api, **said)

        end(work)

    own = inspect.signature(command, eval_str=True)
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, kind, default in OPTIONS
    ]
    parameters = [one for one in own.parameters.values() if one.name != "api"]
    run.__signature__ = inspect.Signature([*parameters, *options])  # type: ignore[attr-defined]  # read by Typer
    run.__annotations__ = {one.name: one.annotation for one in (*parameters, *options)}
    return run


def end(command: Callable[[], int]) -> None:
    """Run a command and end with its exit code; what is refused is said in one line."""
    try:
        code = command()
    except RefusedError as error:
        sys.stderr.write(f"deadwatch: {error}\n")
        code = error.code
    except KeyboardInterrupt:
        code = INTERRUPTED
    raise typer.Exit(code)


def shown(told: Answer, as_json: bool, table: Callable[[Answer], Table]) -> int:
    """Print an answer; the exit code."""
    if as_json:
        print(json.dumps(told))
    else:
        Console().print(table(told))
    return DONE
