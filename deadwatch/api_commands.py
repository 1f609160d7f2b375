"""The commands that talk to the api of a running service: tables for people, ``--json`` for scripts."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from deadwatch import complete, redrive_command, redrive_tables
from deadwatch.api_client import Api
from deadwatch.api_command import EXIT_CODES, Answer, Json, Limit, of_api, shown
from deadwatch.redrive_request import body, with_options

OrderId = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="Of a redrive; deadwatch jobs lists them.", autocompletion=complete.orders
    ),
]


def add_to(app: typer.Typer) -> None:
    """Add the commands to the command ``deadwatch``."""
    for command in (topics, groups, show, redrive, jobs, cancel, pause, resume):
        app.command(epilog=EXIT_CODES)(of_api(command))


@with_options
def redrive(
    api: Api,
    dlq_topic: Annotated[
        str,
        typer.Argument(metavar="TOPIC", help="The dead letter topic.", autocompletion=complete.topics),
    ],
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be moved, and end.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Json = False,
    **said: object,
) -> int:
    """Put dead letters back: shows what would be moved, asks, moves, and follows until the end.

    deadwatch redrive dlq.orders --all --reason 'converter fixed' --dry-run

    deadwatch redrive dlq.orders --filter 'attempts < 3' --rate 200 --reason 'converter fixed'

    deadwatch redrive dlq.orders --all --rate none --set guards.max_bounce_ratio=0.2 --reason 'mended'
    """
    request = body(dlq_topic, said)
    return redrive_command.run(api, request, dry_run, yes, as_json, redrive_command.ask_terminal)


def jobs(
    api: Api,
    order: Annotated[
        str, typer.Argument(metavar="[ID]", help="Only this one.", autocompletion=complete.orders)
    ] = "",
    *,
    follow: Annotated[bool, typer.Option("--follow", help="Show how far it is until it is over.")] = False,
    limit: Limit = 20,
    as_json: Json = False,
) -> int:
    """List redrives, the newest first, or look at one.

    deadwatch jobs --limit 5

    deadwatch jobs 0f8c2c0e-6d0b-4f5e-9a53-0c4f4d1f3b7a --follow (exit code 0: it was completed)
    """
    if not order:
        return shown(api.pages("/redrives", limit), as_json, _jobs)
    if follow:
        return redrive_command.watch(api, order, Console(quiet=as_json), as_json)
    return shown(api.get(f"/redrives/{order}"), as_json, _job)


def cancel(api: Api, order: OrderId, *, as_json: Json = False) -> int:
    """Stop a redrive for ever; what it has moved stays moved.

    deadwatch cancel 0f8c2c0e-6d0b-4f5e-9a53-0c4f4d1f3b7a
    """
    return shown(api.post(f"/redrives/{order}/cancel"), as_json, _job)


def pause(api: Api, order: OrderId, *, as_json: Json = False) -> int:
    """Stop a redrive for now; resume lets it go on where it was.

    deadwatch pause 0f8c2c0e-6d0b-4f5e-9a53-0c4f4d1f3b7a
    """
    return shown(api.post(f"/redrives/{order}/pause"), as_json, _job)


def resume(api: Api, order: OrderId, *, as_json: Json = False) -> int:
    """Let a paused redrive go on.

    deadwatch resume 0f8c2c0e-6d0b-4f5e-9a53-0c4f4d1f3b7a
    """
    return shown(api.post(f"/redrives/{order}/resume"), as_json, _job)


def topics(api: Api, *, limit: Limit = 50, as_json: Json = False) -> int:
    """List dead letter topics, that of which most waits first.

    deadwatch topics --json | jq '.items[].dlq_topic'
    """
    return shown(api.pages("/dead-letters/topics", limit, order="waiting"), as_json, _topics)


def groups(api: Api, *, limit: Limit = 50, as_json: Json = False) -> int:
    """List the causes of dead letters, that of which most waits first.

    deadwatch groups --limit 10
    """
    return shown(api.pages("/dead-letters/groups", limit, order="waiting"), as_json, _groups)


def show(
    api: Api,
    fingerprint: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="Of a cause; deadwatch groups lists them.",
            autocompletion=complete.groups,
        ),
    ],
    *,
    as_json: Json = False,
) -> int:
    """Show one cause of dead letters and its newest records, without their payload.

    deadwatch show 3f9a0c12b7de4581
    """
    return shown(api.get(f"/dead-letters/groups/{fingerprint}"), as_json, redrive_tables.group)


def _jobs(told: Answer) -> Table:
    return redrive_tables.jobs(told["items"])


def _job(told: Answer) -> Table:
    return redrive_tables.jobs([told])


def _topics(told: Answer) -> Table:
    names = ("dlq_topic", "waiting", "records", "dialects", "source_topics", "last_seen")
    return redrive_tables.table(
        "Dead letter topics", names, ([one[name] for name in names] for one in told["items"])
    )


def _groups(told: Answer) -> Table:
    names = (
        "fingerprint",
        "dlq_topic",
        "consumer",
        "error_class",
        "waiting",
        "records",
        "last_seen",
        "message_pattern",
    )
    return redrive_tables.table("Causes", names, ([one[name] for name in names] for one in told["items"]))
