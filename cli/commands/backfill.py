"""``deadwatch backfill``: counts the store anew from Kafka, with a bar that says how far it is."""

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from cli.api_client import UsageError
from cli.commands.output import ask_terminal
from cli.options import Options
from cli.service import configure
from streaming import backfill
from streaming.rebuild import BackfillError

COLUMNS = (TextColumn("counted"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())


def run(since: str, options: Options, *, yes: bool) -> int:
    """The exit code: 0 the new counts are in place, 1 nothing was changed.

    Raises:
        SettingsError: the settings cannot be used.
        UsageError: it cannot be done; the text says why.
    """
    try:
        since_ms = backfill.since_ms_of(since)
        settings = configure(options).streaming
        with Progress(*COLUMNS, console=Console(stderr=True)) as progress:
            bar = progress.add_task("counted", total=None)

            def ask(text: str) -> bool:
                progress.stop()
                agreed = yes or ask_terminal(text)
                progress.start()
                return agreed

            return backfill.run(
                settings,
                since_ms,
                ask=ask,
                progress=lambda done, to_do: progress.update(bar, completed=done, total=to_do),
            )
    except (BackfillError, ValueError) as error:
        raise UsageError(str(error)) from error
