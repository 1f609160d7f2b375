"""The command ``deadwatch``. A wrong command line or wrong settings are one line on stderr and exit code 2.

A command loads what it runs when it is run: ``deadwatch up`` stays in memory as long as the service does.
"""

import inspect
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.api_client import DONE, RefusedError
from cli.commands import policies as policy_commands
from cli.commands import tokens as token_commands
from cli.commands.api import (
    AT,
    EXIT_CODES,
    TOKEN_FILE,
    Token,
    TokenFile,
    Url,
    credential_of,
    end,
    of_api,
    taking,
)
from cli.commands.dead_letters import groups, records, show, topics
from cli.commands.redrives import cancel, jobs, pause, redrive, resume
from cli.commands.signals import findings, overview, tasks
from cli.commands.tokens import audit
from cli.options import DATA, Bootstrap, Config, Data, Options
from deadwatch.runtime.one_line import OneLine
from deadwatch.runtime.process import Interrupted, configure_logging, interruptible
from deadwatch.store.maintenance import Work

app = typer.Typer(name="deadwatch", cls=OneLine, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False,
) -> None:
    """Sees what Kafka gives up on: task timeouts, abandoned tasks, expired deliveries, dead letters."""
    if version:
        from deadwatch.runtime.version import VERSION

        print(f"deadwatch {VERSION}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit
    configure_logging("deadwatch")


def up(options: Options) -> int:
    """Run the service on your Kafka until Ctrl-C: collector, streaming, redrive and api.

    deadwatch up --bootstrap-servers localhost:9092 --log '/var/log/kafka/*.log'

    deadwatch up --bootstrap-servers kafka:9092 --connect-url http://connect:8083
    --jolokia-url 'http://{host}:8778/jolokia'

    deadwatch up --config deadwatch.yaml (there: kafka, with TLS and SASL)
    """
    from cli.commands import up as up_command
    from cli.service import configure

    return up_command.run(configure(options))


def doctor(options: Options) -> int:
    """Check what the service would meet; takes the options of up. Exit code 1 when something fails.

    deadwatch doctor --bootstrap-servers localhost:9092 --connect-url http://localhost:8083
    """
    from cli.doctor import run
    from cli.service import configure

    return run(configure(options))


def _of_the_service(run: Callable[[Options], int]) -> Callable[..., None]:
    """A command for Typer that takes the options of the whole service and hands them to ``run``."""

    def command(**options: Any) -> None:  # noqa: ANN401 -- what Typer has read
        end(lambda: run(Options(**options)))

    command.__doc__ = run.__doc__
    return taking(command, list(inspect.signature(Options).parameters.values()))


app.command("up")(_of_the_service(up))
app.command("doctor")(_of_the_service(doctor))


@app.command()
def demo(
    *,
    once: Annotated[bool, typer.Option("--once", help="End when everything has been seen.")] = False,
    port: Annotated[int, typer.Option(min=0, max=65_535, metavar="PORT", help="Of the api; 0: any.")] = 0,
    svg: Annotated[Path | None, typer.Option(metavar="FILE", help="Save the table as a picture.")] = None,
) -> None:
    """Start a real Kafka, make it fail in every way we know, and watch the numbers arrive.

    deadwatch demo --once (exit code 0: every figure was exact)
    """
    from cli.demo import command

    end(lambda: command.run(once=once, port=port, picture=svg))


@app.command()
def lab() -> None:
    """Start only the lab (Kafka, Connect, Streams), for trying things by hand; Ctrl-C ends it.

    deadwatch lab
    """
    from jars import JarsError, JavaError
    from lab import Lab, LabError

    def run() -> int:
        try:
            with interruptible(), Lab() as running:
                print(running.describe(), "Ctrl-C ends it.", sep="\n", flush=True)
                threading.Event().wait()
        except (LabError, JarsError, JavaError) as error:
            raise RefusedError(str(error)) from error
        except Interrupted:
            pass
        return DONE

    end(run)


@app.command()
def store(
    work: Annotated[Work, typer.Argument(help="What to do.")],
    file: Annotated[
        str, typer.Argument(metavar="[FILE]", help="Of a backup; `restore newest`: the newest one.")
    ] = "",
    *,
    data: Data = DATA,
    config: Config = None,
) -> None:
    """Look after the store: its version (status, upgrade), whether it is whole (check), copies of it.

    deadwatch store upgrade --config deadwatch.yaml (before a newer program starts)

    deadwatch store check (exit code 1: it is damaged)

    deadwatch store backup (while the service runs; beside the store, or to FILE)

    deadwatch store restore (a damaged one: keeps what can be read of it; with FILE: as it was then)
    """
    from cli.commands import store as store_command

    end(lambda: store_command.run(work, Options(data=data, config=config), file))


@app.command()
def backfill(
    *,
    since: Annotated[
        str, typer.Option("--from", metavar="TIME", help="2026-11-21T08:00:00Z, or beginning: all of Kafka.")
    ],
    bootstrap_servers: Bootstrap = None,
    data: Data = DATA,
    config: Config = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Forget what Kafka has no more.")] = False,
) -> None:
    """Count anew what Kafka has since a time; the service may run meanwhile and goes on from there.

    deadwatch backfill --from 2026-11-21T08:00:00Z
    """
    from cli.commands import backfill as backfill_command

    options = Options(bootstrap_servers=bootstrap_servers, data=data, config=config)
    end(lambda: backfill_command.run(since, options, yes=yes))


for of_the_api in (
    overview,
    topics,
    groups,
    show,
    records,
    tasks,
    findings,
    redrive,
    jobs,
    cancel,
    pause,
    resume,
    audit,
):
    app.command(epilog=EXIT_CODES)(of_api(of_the_api))


@app.command()
def ready(
    *,
    source: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="In `deadwatch_source_up`, up to a colon; repeatable."),
    ] = None,
    within: Annotated[int, typer.Option(min=0, metavar="SECONDS", help="How long to wait for it.")] = 60,
    url: Url = AT,
    token: Token = "",
    token_file: TokenFile = TOKEN_FILE,
) -> None:
    """Wait until the service is ready and its processes work; else say what is missing, exit code 1.

    Sources are told by /metrics. Where that needs a token and there is none, they are not looked at: it says
    so, exit code 0. A token that is refused: exit code 3.

    deadwatch ready --source streaming --source redrive --source collector:collector
    """
    from cli.commands import ready as ready_command

    def run() -> int:
        sent = credential_of(token, token_file, url)
        return ready_command.run(
            url, sent, source or (), within_s=within, now_s=time.monotonic, pause_s=time.sleep
        )

    end(run)


app.add_typer(policy_commands.app, name="policies")
app.add_typer(token_commands.app, name="token")
