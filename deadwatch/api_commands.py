"""The commands that talk to the api of a running service: tables for people, ``--json`` for scripts.

Exit codes: 0 done, 1 refused by the service or not completed, 2 a wrong command line.
"""

import json
import sys
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from collector.process import REFUSED
from deadwatch import redrive_command, redrive_tables
from deadwatch.api_client import RefusedError, SaidError, connect
from deadwatch.redrive_request import Said, body

Url = Annotated[str, typer.Option(envvar="DEADWATCH_URL", metavar="URL", help="Of the service.")]
Json = Annotated[bool, typer.Option("--json", help="The api's answer as JSON.")]
OrderId = Annotated[str, typer.Argument(metavar="ID", help="Of a redrive; deadwatch jobs lists them.")]
Limit = Annotated[int, typer.Option(min=1, max=500, help="How many at most, the newest first.")]

AT = "http://127.0.0.1:8000"
Answer = Mapping[str, Any]


def add_to(app: typer.Typer) -> None:
    """Add the commands to the command ``deadwatch``."""
    for command in (topics, groups, show, redrive, jobs, cancel, resume):
        app.command()(command)


def redrive(
    dlq_topic: Annotated[str, typer.Argument(metavar="TOPIC", help="The dead letter topic.")],
    *,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why; it is kept.")],
    everything: Annotated[bool, typer.Option("--all", help="All records.")] = False,
    group: Annotated[str | None, typer.Option(metavar="ID", help="Records of one cause.")] = None,
    expression: Annotated[str | None, typer.Option("--filter", metavar="CEL", help="docs/filter.md")] = None,
    offsets: Annotated[list[str] | None, typer.Option(metavar="P:FROM-TO", help="Repeatable.")] = None,
    record: Annotated[list[str] | None, typer.Option(metavar="P:OFFSET", help="Repeatable.")] = None,
    since: Annotated[str | None, typer.Option("--from", metavar="TIME", help="With its zone.")] = None,
    until: Annotated[str | None, typer.Option("--to", metavar="TIME", help="Left out itself.")] = None,
    target: Annotated[
        str, typer.Option(metavar="RULE", help="origin, topic:NAME, map:OLD=NEW,… or retry:GROUP")
    ] = "origin",
    rate: Annotated[float | None, typer.Option(help="Records a second; 50 unless said.")] = None,
    max_records: Annotated[int | None, typer.Option(help="Move so many at most.")] = None,
    max_attempts: Annotated[int | None, typer.Option(help="Then a record is parked; 5 unless said.")] = None,
    engine: Annotated[str, typer.Option(help="local, or spark: several executors.")] = "local",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be moved, and end.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Json = False,
    url: Url = AT,
) -> None:
    """Put dead letters back: shows what would be moved, asks, moves, and follows until the end.

    deadwatch redrive dlq.orders --all --reason 'converter fixed' --dry-run

    deadwatch redrive dlq.orders --filter 'attempts < 3' --rate 200 --reason 'converter fixed'
    """
    said = Said(
        dlq_topic=dlq_topic,
        reason=reason,
        everything=everything,
        group=group,
        expression=expression,
        offsets=offsets or (),
        records=record or (),
        since=since,
        until=until,
        target=target,
        rate=rate,
        max_records=max_records,
        max_attempts=max_attempts,
        engine=engine,
    )
    ask = redrive_command.ask_terminal
    end(lambda: redrive_command.run(connect(url), body(said), dry_run, yes, as_json, ask))


def jobs(
    order: Annotated[str, typer.Argument(metavar="[ID]", help="Only this one.")] = "",
    *,
    limit: Limit = 20,
    as_json: Json = False,
    url: Url = AT,
) -> None:
    """List redrives, the newest first."""
    if order:
        end(lambda: shown(connect(url).get(f"/redrives/{order}"), as_json, _job))
    end(lambda: shown(connect(url).get("/redrives", limit=limit), as_json, _jobs))


def cancel(order: OrderId, *, as_json: Json = False, url: Url = AT) -> None:
    """Stop a redrive for ever; what it has moved stays moved."""
    end(lambda: shown(connect(url).post(f"/redrives/{order}/cancel"), as_json, _job))


def resume(order: OrderId, *, as_json: Json = False, url: Url = AT) -> None:
    """Let a paused redrive go on."""
    end(lambda: shown(connect(url).post(f"/redrives/{order}/resume"), as_json, _job))


def topics(*, limit: Limit = 50, as_json: Json = False, url: Url = AT) -> None:
    """List dead letter topics."""
    end(lambda: shown(connect(url).get("/dead-letters/topics", limit=limit), as_json, _topics))


def groups(*, limit: Limit = 50, as_json: Json = False, url: Url = AT) -> None:
    """List the causes of dead letters."""
    end(lambda: shown(connect(url).get("/dead-letters/groups", limit=limit), as_json, _groups))


def show(
    fingerprint: Annotated[
        str, typer.Argument(metavar="ID", help="Of a cause; deadwatch groups lists them.")
    ],
    *,
    as_json: Json = False,
    url: Url = AT,
) -> None:
    """Show one cause of dead letters and its newest records, without their payload."""
    path = f"/dead-letters/groups/{fingerprint}"
    end(lambda: shown(connect(url).get(path), as_json, redrive_tables.group))


def _jobs(told: Answer) -> Table:
    return redrive_tables.jobs(told["items"])


def _job(told: Answer) -> Table:
    return redrive_tables.jobs([told])


def _topics(told: Answer) -> Table:
    names = ("dlq_topic", "records", "dialects", "source_topics", "last_seen")
    return redrive_tables.table(
        "Dead letter topics", names, ([one[name] for name in names] for one in told["items"])
    )


def _groups(told: Answer) -> Table:
    names = ("fingerprint", "dlq_topic", "consumer", "error_class", "records", "last_seen", "message_pattern")
    return redrive_tables.table("Causes", names, ([one[name] for name in names] for one in told["items"]))


def shown(told: Answer, as_json: bool, table: Callable[[Answer], Table]) -> int:
    """Print an answer; the exit code."""
    if as_json:
        print(json.dumps(told))
    else:
        Console().print(table(told))
    return redrive_command.DONE


def end(command: Callable[[], int]) -> None:
    """Run a command and end with its exit code; what is refused is said in one line."""
    try:
        code = command()
    except RefusedError as error:
        sys.stderr.write(f"deadwatch: {error}\n")
        code = REFUSED if isinstance(error, SaidError) else redrive_command.UNDONE
    raise typer.Exit(code)
