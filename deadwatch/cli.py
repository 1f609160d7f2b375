"""The command ``deadwatch``. What is refused is one line on standard error and exit code 2."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from collector.process import REFUSED, configure_logging
from collector.settings_file import SettingsError
from collector.version import VERSION
from deadwatch import (
    api_commands,
    audit_command,
    backfill_command,
    demo,
    examination,
    lab_command,
    policy_commands,
    ready_command,
    store_command,
    token_commands,
)
from deadwatch import up as up_command
from deadwatch.one_line import OneLine
from deadwatch.service import DATA, Options, configure
from streaming.store.upgrade import Work

Bootstrap = Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Your Kafka; several by commas.")]
ConnectUrl = Annotated[list[str] | None, typer.Option(metavar="URL", help="A Connect REST URL; repeatable.")]
JolokiaUrl = Annotated[
    str, typer.Option(metavar="TEMPLATE", help="Jolokia of its workers, as http://{host}:8778/jolokia")
]
BrokerJolokiaUrl = Annotated[
    list[str] | None, typer.Option(metavar="URL", help="Jolokia of a broker; repeatable.")
]
Log = Annotated[list[str] | None, typer.Option(metavar="GLOB", help="Log files to follow; repeatable.")]
Data = Annotated[Path, typer.Option(metavar="DIR", help="The only place that is written to.")]
Port = Annotated[int | None, typer.Option(min=0, max=65_535, metavar="PORT", help="Of the api; 0: any.")]
Config = Annotated[Path | None, typer.Option(metavar="FILE", help="Settings as YAML (deadwatch.yaml).")]

app = typer.Typer(cls=OneLine, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False,
) -> None:
    """Sees what Kafka gives up on: task timeouts, abandoned tasks, expired deliveries, dead letters."""
    if version:
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
    return up_command.run(configure(options))


def examine(options: Options) -> int:
    """Check what the service would meet; takes the options of up. Exit code 1 when something fails.

    deadwatch doctor --bootstrap-servers localhost:9092 --connect-url http://localhost:8083
    """
    return examination.run(configure(options))


def _of_the_service(run: Callable[[Options], int]) -> Callable[..., None]:
    """The command that takes the options of the whole service and hands them over."""

    def command(
        *,
        bootstrap_servers: Bootstrap = None,
        connect_url: ConnectUrl = None,
        jolokia_url: JolokiaUrl = "",
        broker_jolokia_url: BrokerJolokiaUrl = None,
        log: Log = None,
        data: Data = DATA,
        port: Port = None,
        config: Config = None,
    ) -> None:
        options = Options(
            bootstrap_servers=bootstrap_servers,
            connect_urls=connect_url or (),
            jolokia_url=jolokia_url,
            broker_jolokia_urls=broker_jolokia_url or (),
            logs=log or (),
            data=data,
            port=port,
            config=config,
        )
        _end(lambda: run(options))

    command.__doc__ = run.__doc__
    return command


app.command("up")(_of_the_service(up))
app.command("doctor")(_of_the_service(examine))


@app.command("demo")
def show(
    *,
    once: Annotated[bool, typer.Option("--once", help="End when everything has been seen.")] = False,
    port: Annotated[int, typer.Option(min=0, max=65_535, metavar="PORT", help="Of the api; 0: any.")] = 0,
    svg: Annotated[Path | None, typer.Option(metavar="FILE", help="Save the table as a picture.")] = None,
) -> None:
    """Start a real Kafka, make it fail in every way we know, and watch the numbers arrive.

    deadwatch demo --once (exit code 0: every figure was exact)
    """
    _end(lambda: demo.run(once=once, port=port, picture=svg))


@app.command("lab")
def experiment() -> None:
    """Start only the lab (Kafka, Connect, Streams), for trying things by hand; Ctrl-C ends it.

    deadwatch lab
    """
    _end(lab_command.run)


@app.command("store")
def look_after(
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
    _end(lambda: store_command.run(work, Options(data=data, config=config), file))


@app.command("backfill")
def count_anew(
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
    options = Options(bootstrap_servers=bootstrap_servers, data=data, config=config)
    _end(lambda: backfill_command.run(since, options, yes=yes))


api_commands.add_to(app)
audit_command.add_to(app)
app.command()(ready_command.ready)
app.add_typer(policy_commands.app, name="policies")
app.add_typer(token_commands.app, name="token")


def _end(command: Callable[[], int]) -> None:
    """Run a command and end with its exit code; what is refused is said in one line."""
    try:
        code = command()
    except SettingsError as error:
        sys.stderr.write(f"deadwatch: {error}\n")
        code = REFUSED
    raise typer.Exit(code)
