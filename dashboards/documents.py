"""What ``make dashboards`` writes into docs: the table of signals, and runbooks to begin with."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from dashboards.generate import put
from deadwatch.contract import signals
from deadwatch.contract.signals.signal import Alert, Signal

DOCS: Final = Path(__file__).parents[1] / "docs"
_TABLE: Final = re.compile(
    "(?<=<!-- signals: written by make dashboards -->\n).*(?=<!-- /signals -->)", re.DOTALL
)
_INDEX: Final = re.compile(r"(?:^- \[Deadwatch.*\n)+", re.MULTILINE)
_RUNBOOK: Final = """\
# {alert.name}

*{signal.title}*

## What it means

{means}

## Who is hurt

{hurt}

## How to look

```console
$ curl -s 'http://127.0.0.1:8000{signal.page}'
$ curl -s 'http://prometheus:9090/api/v1/query?query={signal.metric}'
```

## How to mend

{mend}

## How to prove it is over

The counter stands still, and after {alert.window} the alert is no longer listed:

```console
$ curl -s 'http://prometheus:9090/api/v1/alerts'
```
"""


def write() -> list[Path]:
    """Write the files that differ; a runbook that is there is somebody's and stays. Returns what was changed.

    Raises:
        ValueError: an alert has neither a runbook nor the sentences for one.
    """
    return put(dict(_files()))


def _files() -> Iterator[tuple[Path, str]]:
    page, index = DOCS / "dashboards.md", DOCS / "runbooks" / "README.md"
    yield page, _TABLE.sub(lambda _: _table(), page.read_text())
    new = []
    for signal in signals.ALL:
        if signal.alert and not (runbook := index.with_name(f"{signal.alert.name}.md")).exists():
            new.append(f"- [{runbook.stem}]({runbook.name}): {signal.title}\n")
            yield runbook, _runbook(signal, signal.alert)
    yield (
        index,
        _INDEX.sub(lambda lines: _sorted([*lines[0].splitlines(keepends=True), *new]), index.read_text()),
    )


def _sorted(lines: list[str]) -> str:
    return "".join(sorted(lines, key=lambda line: line.partition("]")[0]))


def _table() -> str:
    rows = ["| signal | event | metric | alert |", "|---|---|---|---|"]
    for signal in signals.ALL:
        alert = f"[{signal.alert.name}](runbooks/{signal.alert.name}.md)" if signal.alert else ""
        rows.append(f"| {signal.title} | `{signal.event.kind}` | `{signal.metric}` | {alert} |")
    return "".join(f"{row}\n" for row in rows)


def _runbook(signal: Signal, alert: Alert) -> str:
    if alert.runbook is None:
        raise ValueError(
            f"docs/runbooks has no {alert.name}.md, and the alert no sentences to begin one with"
        )
    means, hurt, mend = alert.runbook
    return _RUNBOOK.format(signal=signal, alert=alert, means=means, hurt=hurt, mend=mend)
