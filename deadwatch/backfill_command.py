"""``deadwatch backfill``: counts the store anew from Kafka, with a bar that says how far it is."""

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from collector.settings_file import SettingsError
from deadwatch.api_client import SaidError
from deadwatch.redrive_command import ask_terminal
from deadwatch.service import Options, configure
from streaming.backfill import command, span
from streaming.backfill.rebuild import BackfillError

COLUMNS = (TextColumn("counted"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())


def run(since: str, options: Options, *, yes: bool) -> int:
    """The exit code: 0 the new counts are in place, 1 nothing was changed.

    Raises:
        SettingsError: it cannot be done; the text says why.
    """
    try:
        since_ms = span.since_ms(since)
        settings = configure(options).streaming
        with Progress(*COLUMNS, console=Console(stderr=True)) as progress:
            bar = progress.add_task("counted", total=None)

            def ask(text: str) -> bool:
                progress.stop()
                agreed = yes or ask_terminal(text)
                progress.start()
                return agreed

            return command.run(
                settings,
                since_ms,
                ask=ask,
                told=lambda done, to_do: progress.update(bar, completed=done, total=to_do),
            )
    except (BackfillError, SaidError, ValueError) as error:
        raise SettingsError(str(error)) from error
