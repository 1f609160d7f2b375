"""``deadwatch redrive``, ``jobs``, ``cancel``, ``pause``, ``resume``: redrives from a terminal.

``redrive`` shows a dry run and asks, then makes the order and follows it to its end. Its options become the
body of ``POST /api/v1/redrives``; the api judges it.
"""

import inspect
import sys
import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from cli.api_client import DONE, UNDONE, Api, NoAnswerError, UsageError
from cli.commands import tables
from cli.commands.api import Limit, Output, completion, option
from cli.commands.following import PATH, follow
from cli.commands.output import Answer, Format, ask_terminal, shown, write
from deadwatch.orders import options as order_options
from deadwatch.orders.options import OPTIONS, SET, SETTING, Option, next_step
from deadwatch.orders.reasons import MEANINGS
from deadwatch.orders.texts import SWITCH

if TYPE_CHECKING:
    from rich.console import Console


def status(order: Answer) -> str:
    """The state of a redrive; a dry run is over at once, and has moved nothing."""
    return f"{order['status']} (dry run)" if order["dry_run"] else str(order["status"])


COLUMNS: Final[tables.Columns] = {
    "id": "id",
    "status": status,
    "topic": "dlq_topic",
    "progress": lambda order: order["progress"]["text"],
    "came back": "bounced",
    "created": "created_at",
    "why": lambda order: order["status_reason"] or order["reason"],
}
FOR_PROGRAMS: Final = frozenset({"cut_off", "dlq_topic_id", "dry_run", "plan", "request"})
"""Fields that people do not need; ``status`` tells a dry run."""

SETTINGS: Final = "settings"
Given = Mapping[str, Any]
"""The values that Typer has read, by parameter."""
DlqTopic = Annotated[
    str,
    typer.Argument(
        metavar="TOPIC",
        help="The dead letter topic.",
        autocompletion=completion("/dead-letters/topics", "dlq_topic", "{records} records"),
    ),
]
_COMPLETION = completion(PATH, "id", "{status} {dlq_topic}")
OrderId = Annotated[
    str,
    typer.Argument(metavar="ID", help="Of a redrive; deadwatch jobs lists them.", autocompletion=_COMPLETION),
]
AnyOrderId = Annotated[str, typer.Argument(metavar="[ID]", help="Only this one.", autocompletion=_COMPLETION)]


def body(dlq_topic: str, given: Given) -> dict[str, Any]:
    """The request, a dry run. Raises ``UsageError``."""
    texts = {option.name: text for option in OPTIONS if (text := _text(given.get(_name(option)))) is not None}
    try:
        request = order_options.request(dlq_topic, texts, given.get(SETTINGS) or ())
    except ValueError as error:
        raise UsageError(str(error)) from None
    if "selection" not in request:
        raise UsageError("which records? say --all, --group, --filter, --offsets, --record, --from or --to")
    if "reason" not in request:
        raise UsageError("why? say --reason TEXT: it is kept with the order")
    return request


def with_options(command: Callable[..., int]) -> Callable[..., int]:
    """``command`` takes every option of a request, and ``--set``, as keywords."""
    signature = inspect.signature(command, eval_str=True)
    parameters = list(signature.parameters.values())
    at = sum(each.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD for each in parameters)
    help_ = f"Any other field of a request: {SETTING}."
    settings = typer.Option(None, SET, metavar="PATH=VALUE", help=help_)
    own = [each for each in parameters[at:] if each.kind is inspect.Parameter.KEYWORD_ONLY]
    options = [*map(_parameter, OPTIONS), option(SETTINGS, list[str] | None, settings)]
    command.__signature__ = signature.replace(parameters=[*parameters[:at], *options, *own])  # type: ignore[attr-defined]  # read by Typer
    return command


def _parameter(given: Option) -> inspect.Parameter:
    if given.kind is SWITCH:
        return option(_name(given), bool, typer.Option(False, given.name, help=given.help))
    kind = list[str] | None if given.kind.many else str | None
    default = typer.Option(None, given.name, metavar=given.metavar, help=given.help)
    return option(_name(given), kind, default)


def _name(option: Option) -> str:
    return option.path.replace(".", "_")


def _text(value: str | bool | list[str] | None) -> str | None:
    """The value of an option as one text; None: it was not given."""
    if isinstance(value, bool):
        return "true" if value else None
    return "\n".join(value) or None if isinstance(value, list) else value


@with_options
def redrive(
    api: Api,
    dlq_topic: DlqTopic,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be moved, and end.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    output: Output = Format.TABLE,
    **options: object,
) -> int:
    """Put dead letters back: shows what would be moved, asks, moves, and follows until the end.

    deadwatch redrive dlq.orders --all --reason 'converter fixed' --dry-run

    deadwatch redrive dlq.orders --filter 'attempts < 3' --rate 200 --reason 'converter fixed'

    deadwatch redrive dlq.orders --all --rate none --set guards.max_bounce_ratio=0.2 --reason 'fixed'
    """
    console, request = terminal(output), body(dlq_topic, options)
    tried = api.post(PATH, request)
    would, question = plan(tried), "" if dry_run or yes else question_about(tried["plan"])
    with_question = question and not (output is Format.TABLE and sys.stdout.isatty())
    if not with_question:
        console.print(would)
    if dry_run:
        return _end(tried, output, DONE)
    if question and not ask_terminal(question, would if with_question else ""):
        return _end(tried, output, UNDONE)
    try:
        order = api.post(PATH, {**request, **next_step(tried)}, str(uuid.uuid4()))
    except KeyboardInterrupt:
        sys.stderr.write("it may have been made already; deadwatch jobs shows it\n")
        raise
    console.print(f"to stop it: deadwatch cancel {order['id']}", highlight=False, soft_wrap=True)
    return watch(api, order["id"], console, output)


def jobs(
    api: Api,
    order: AnyOrderId = "",
    *,
    follow: Annotated[bool, typer.Option("--follow", help="Show how far it is until it is over.")] = False,
    limit: Limit = 20,
    output: Output = Format.TABLE,
) -> int:
    """List redrives, the newest first, or look at one.

    deadwatch jobs --limit 5

    deadwatch jobs 0f8c2c0e-6d0b-4f5e-9a53-0c4f4d1f3b7a --follow (exit code 0: it was completed)
    """
    if not order:
        return shown(api.pages(PATH, limit), output, table)
    if follow:
        return watch(api, order, terminal(output), output)
    return shown(api.get(f"{PATH}/{order}"), output, table)


def table(answer: Answer) -> tables.FittedTable:
    """Redrives as a table, or all that one tells: why it stands, what came back."""
    if "items" in answer:
        return tables.of_items("Redrives", COLUMNS, answer, optional=("created", "came back", "why"))
    skipped = [f"{reason}: {count}" for reason, count in answer["skip_reasons"].items()]
    progress = answer["progress"]["text"]
    told = {**answer, "status": status(answer), "progress": progress, "skip_reasons": skipped}
    rows = [(name, value) for name, value in told.items() if name not in FOR_PROGRAMS]
    return tables.FittedTable(f"Redrive {answer['id']}", ("", ""), rows)


def cancel(api: Api, order: OrderId, *, output: Output = Format.TABLE) -> int:
    """Stop a redrive for ever; what it has moved stays moved.

    deadwatch cancel 0f8c2c0e-6d0b-4f5e-9a53-0c4f4d1f3b7a
    """
    return shown(api.post(f"{PATH}/{order}/cancel"), output, table)


def pause(api: Api, order: OrderId, *, output: Output = Format.TABLE) -> int:
    """Stop a redrive for now; resume lets it go on where it was.

    deadwatch pause 0f8c2c0e-6d0b-4f5e-9a53-0c4f4d1f3b7a
    """
    return shown(api.post(f"{PATH}/{order}/pause"), output, table)


def resume(api: Api, order: OrderId, *, output: Output = Format.TABLE) -> int:
    """Let a paused redrive go on.

    deadwatch resume 0f8c2c0e-6d0b-4f5e-9a53-0c4f4d1f3b7a
    """
    return shown(api.post(f"{PATH}/{order}/resume"), output, table)


def watch(api: Api, order: str, console: "Console", output: Format) -> int:
    """Follow an order to its end; the exit code is 0 when it is completed."""
    try:
        last = follow(api, order, console)
    except (KeyboardInterrupt, NoAnswerError):
        sys.stderr.write("it goes on; deadwatch jobs shows it\n")
        raise
    console.print(table(last))
    return _end(last, output, DONE if last["status"] == "COMPLETED" else UNDONE)


def terminal(output: Format) -> "Console":
    """Where people are told what happens; programs, which want an answer alone, are told nothing."""
    from rich.console import Console

    return Console(quiet=output is not Format.TABLE)


def plan(dry_run: Answer) -> tables.FittedTable:
    """The result of a dry run as a table."""
    made = dry_run["plan"]
    least = "at least " if made["at_least"] else ""
    rows: list[tuple[str, object]] = [
        ("read", f"{least}{made['read']}"),
        ("would be moved", f"{least}{made['to_move']}"),
        *((f"  to {topic}", count) for topic, count in made["targets"].items()),
    ]
    if made["rehydrated"]:
        rows.append(("  payload and attempts read at the origin", made["rehydrated"]))
    rows += [(f"  without header {name}", count) for name, count in made["dropped_headers"].items()]
    parked = made.get("park_reasons", {})
    if made["to_park"] and not parked:  # told by an earlier version
        rows.append(("would be parked", made["to_park"]))
    for what, reasons in (("parked", parked), ("skipped", made["skip_reasons"])):
        for reason, count in reasons.items():
            meaning = f": {MEANINGS[reason]}" if reason in MEANINGS else ""
            rows.append((f"would be {what}: {reason}", f"{count}{meaning}"))
    rows += [(f"filter: {problem}", count) for problem, count in made["filter_problems"].items()]
    if made["estimated_ms"] is not None:
        rows.append(("takes", f"{least}{tables.duration(made['estimated_ms'])}"))
    rows += [("warning", warning) for warning in made["warnings"]]
    return tables.FittedTable(f"Dry run on {dry_run['dlq_topic']}", ("", ""), rows)


def question_about(made: Answer) -> str:
    """What people are asked before a plan becomes an order; "" where it would do nothing."""
    moved = made["to_move"]
    parked = max(made["to_park"], made["at_most"] - moved)  # a plan of an earlier version counts the moved
    up_to = "up to " if parked > made["to_park"] else ""
    if made["at_least"]:
        return f"Move or park up to {_records(made['at_most'])}?"
    if not moved:
        return f"Park {_records(parked)}?" if parked else ""
    return f"Move {_records(moved)}{f', park {up_to}{parked}' if parked else ''}?"


def _records(count: int) -> str:
    return f"{count} record" if count == 1 else f"{count} records"


def _end(answer: Answer, output: Format, code: int) -> int:
    write(answer, output)
    return code
