"""``deadwatch topics``, ``groups`` and ``show``: dead letter topics, causes, and the records of one cause."""

import sys
from functools import partial
from typing import Annotated, Final

import typer

from api.signals.group_choices import GroupOrder, Shelf
from cli.api_client import Api
from cli.commands import tables
from cli.commands.api import Limit, Output, completion
from cli.commands.output import Answer, Format, shown

TOPICS: Final = "/dead-letters/topics"
GROUPS: Final = "/dead-letters/groups"
TOPIC_COLUMNS: Final = "dlq_topic waiting records dialects source_topics last_seen"
TOPICS_OPTIONAL: Final = ("source_topics", "dialects", "last_seen")
GROUP_COLUMNS: Final[tables.Columns] = {
    "fingerprint": "fingerprint",
    "waiting": "waiting",
    "error_class": tables.brief_class,
    "message_pattern": "message_pattern",
    "dlq_topic": "dlq_topic",
    "consumer": "consumer",
    "records": "records",
    "last_seen": "last_seen",
}
GROUPS_OPTIONAL: Final = ("last_seen", "records", "consumer", "dlq_topic")
RECORDS: Final = "/dead-letters/records"
RECORD_COLUMNS: Final[tables.Columns] = {
    "record": lambda item: f"{item['topic']} {item['partition']}:{item['offset']}",
    "timestamp": "timestamp",
    "error_class": tables.brief_class,
    "message": "message",
    "attempts": "attempts",
}
RECORDS_OPTIONAL: Final = ("attempts", "timestamp")
Fingerprint = Annotated[
    str,
    typer.Argument(
        metavar="ID",
        help="Of a cause; deadwatch groups lists them.",
        autocompletion=completion(GROUPS, "fingerprint", "{error_class}"),
    ),
]


def topics(api: Api, *, limit: Limit = 50, output: Output = Format.TABLE) -> int:
    """List dead letter topics, that of which most waits first.

    deadwatch topics --json | jq '.items[].dlq_topic'
    """
    columns = tables.named(TOPIC_COLUMNS)
    table = partial(tables.of_items, "Dead letter topics", columns, optional=TOPICS_OPTIONAL)
    return shown(api.pages(TOPICS, limit, order="waiting"), output, table)


def groups(
    api: Api,
    *,
    text: Annotated[
        str, typer.Option("--filter", metavar="TEXT", help="Words, or CEL as error_class.endsWith('X').")
    ] = "",
    shelf: Annotated[Shelf, typer.Option(help="Archived: and not seen again since.")] = Shelf.ACTIVE,
    order: Annotated[GroupOrder, typer.Option(help="What comes first.")] = GroupOrder.WAITING,
    limit: Limit = 50,
    output: Output = Format.TABLE,
) -> int:
    """List the causes of dead letters, that of which most waits first.

    deadwatch groups --limit 10

    deadwatch groups --filter 'DataException orders'
    """
    chosen = {"order": order, "shelf": shelf} | ({"filter": text} if text else {})
    table = partial(tables.of_items, "Causes", GROUP_COLUMNS, optional=GROUPS_OPTIONAL)
    return shown(api.pages(GROUPS, limit, **chosen), output, table)


def records(
    api: Api,
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="A dead letter topic.")],
    *,
    text: Annotated[str, typer.Option("--filter", metavar="CEL", help="As error_class.endsWith('X').")] = "",
    since: Annotated[str, typer.Option("--from", metavar="TIME", help="As 2026-11-21T12:00:00Z.")] = "",
    until: Annotated[str, typer.Option("--to", metavar="TIME", help="Left out itself.")] = "",
    oldest: Annotated[bool, typer.Option("--oldest", help="The oldest first.")] = False,
    limit: Limit = 50,
    output: Output = Format.TABLE,
) -> int:
    """List records of a dead letter topic as Kafka has them, the newest first, without their payload.

    With a filter Kafka is read until so many are found, or to its end.

    deadwatch records dlq.orders --filter 'attempts > 0' --output csv
    """
    chosen = {"topic": topic, "filter": text, "from": since, "to": until}
    given = {name: value for name, value in chosen.items() if value}
    found = api.pages(RECORDS, limit, order="oldest" if oldest else "newest", **given)
    for problem, count in found.get("filter_problems", {}).items():
        sys.stderr.write(f"deadwatch: the filter says nothing of {count} records: {problem}\n")
    table = partial(tables.of_items, f"Records of {topic}", RECORD_COLUMNS, optional=RECORDS_OPTIONAL)
    return shown(found, output, table)


def show(api: Api, fingerprint: Fingerprint, *, output: Output = Format.TABLE) -> int:
    """Show one cause of dead letters and its newest records, without their payload.

    deadwatch show 3f9a0c12b7de4581
    """
    return shown(api.get(f"{GROUPS}/{fingerprint}"), output, _group)


def _group(group: Answer) -> tables.FittedTable:
    samples = [
        (
            f"{sample['dlq_topic']} {sample['partition']}:{sample['offset']}",
            f"{tables.brief_time(sample['timestamp'])}  {sample['value_bytes']} B",
        )
        for sample in group["samples"]
    ]
    trend = [f"{tables.brief_time(hour['at'])}  {hour['value']}" for hour in group["trend"]]
    facts = [(name, value) for name, value in group.items() if name not in {"samples", "trend"}]
    facts.append(("trend", trend))
    return tables.FittedTable(f"Cause {group['fingerprint']}", ("", ""), [*facts, *samples])
