"""What every command that talks to the api shares: its options, completion, exit codes and output."""

import inspect
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from cli import local_token
from cli.api_client import ANONYMOUS, Credential, RefusedError, UsageError, connect
from cli.commands.output import Format, text_of
from cli.options import DATA
from deadwatch.runtime.process import REFUSED, SettingsError

Command = Callable[..., None]
Url = Annotated[str, typer.Option(envvar="DEADWATCH_URL", metavar="URL", help="Of the service.")]
Token = Annotated[
    str, typer.Option(envvar="DEADWATCH_TOKEN", metavar="TOKEN", help="Better in the variable.")
]
TokenFile = Annotated[
    Path, typer.Option(envvar="DEADWATCH_TOKEN_FILE", metavar="FILE", help="Unless there is --token.")
]
Json = Annotated[bool, typer.Option("--json", help="The same as --output json.")]
_OUTPUT: Final = typer.Option(
    "--output", "-o", help="json and yaml: the api's whole answer.", show_default=Format.TABLE.value
)
Output = Annotated[Format, _OUTPUT]
Limit = Annotated[int, typer.Option(min=1, max=100_000, help="How many at most.")]

AT: Final = "http://127.0.0.1:8000"
ON_STORE: Final = "on_store"
"""The parameter of commands that may work on the store itself."""
TOKEN_FILE: Final = DATA / local_token.NAME
EXIT_CODES: Final = (
    "Exit codes: 0 done, 1 refused or not completed, 2 wrong command line, 3 token missing or not enough, "
    "4 no answer, 130 interrupted."
)
COMPLETION_TIMEOUT_S: Final = 1.0
COMPLETION_LIMIT: Final = 100


def credential_of(text: str, file: Path, url: str) -> Credential:
    """The token of these options: a file that was named has to be there, the local one need not.

    Raises:
        UsageError: the file cannot be read.
    """
    if text:
        return Credential(text)
    if file == TOKEN_FILE:
        found = local_token.find(file, url)
        return Credential(found, file if found else None)
    return Credential(text_of(file, "the token in ").strip())


def of_api(command: Callable[..., int]) -> Command:
    """A command for Typer: ``command`` gets the api that the options name, and returns the exit code."""

    @wraps(command)
    def run(url: str, token: str, token_file: Path, **options: Any) -> None:  # noqa: ANN401 -- what Typer has read
        def work() -> int:
            if formatted:
                options["output"] = _format(options["output"], json=options.pop("json"))
            # what is done on the store asks no api: it has to work before there is a token
            sent = ANONYMOUS if options.get(ON_STORE) else credential_of(token, token_file, url)
            with connect(url, sent) as api:
                return command(api, **options)

        end(work)

    own = inspect.signature(command, eval_str=True).parameters
    formatted = "output" in own
    output = {"output": option("output", Annotated[Format | None, _OUTPUT], None)} if formatted else {}
    as_json = [option("json", Json, False)] if formatted else []
    shared = option("url", Url, AT), option("token", Token, ""), option("token_file", TokenFile, TOKEN_FILE)
    kept = [each for name, each in {**own, **output}.items() if name != "api"]
    return taking(run, [*kept, *as_json, *shared])


def _format(asked: Any, *, json: bool) -> Format:  # noqa: ANN401 -- what Typer has read
    """The format that ``--output`` and ``--json`` ask for together. Raises ``UsageError``."""
    if json and asked not in {None, Format.JSON}:
        raise UsageError("say --json or --output, not both")
    return Format.JSON if json else Format(asked or Format.TABLE)


def taking(run: Command, parameters: Sequence[inspect.Parameter]) -> Command:
    """``run``, of which Typer is told that it takes these parameters."""
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # read by Typer
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def option(name: str, kind: object, default: object) -> inspect.Parameter:
    """An option of a command as Typer reads it from the command's signature."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def group(about: str, commands: Mapping[str, Callable[..., int]]) -> typer.Typer:
    """Commands of the api under one name."""
    made = typer.Typer(help=about)
    for name, command in commands.items():
        made.command(name, epilog=EXIT_CODES)(of_api(command))
    return made


def end(command: Callable[[], int]) -> None:
    """Run a command and end with its exit code; a refusal is one line on standard error."""
    try:
        code = command()
    except (RefusedError, SettingsError) as error:
        sys.stderr.write(f"deadwatch: {error}\n")
        code = error.code if isinstance(error, RefusedError) else REFUSED
    raise typer.Exit(code)


def completion(path: str, name: str, describe: str) -> Callable[[str], list[tuple[str, str]]]:
    """What the shell offers for an argument: ``name`` of each item at ``path``, with its description.

    Nothing is offered where the service does not answer at once.
    """

    def offered(incomplete: str) -> list[tuple[str, str]]:
        url = os.environ.get("DEADWATCH_URL") or AT
        file = Path(os.environ.get("DEADWATCH_TOKEN_FILE") or TOKEN_FILE)
        try:
            token = credential_of(os.environ.get("DEADWATCH_TOKEN", ""), file, url)
            with connect(url, token, COMPLETION_TIMEOUT_S) as api:
                items = api.get(path, limit=COMPLETION_LIMIT)["items"]
        except RefusedError:
            return []
        return [
            (item[name], describe.format_map(item)) for item in items if item[name].startswith(incomplete)
        ]

    return offered
