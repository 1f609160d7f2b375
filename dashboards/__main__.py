"""``python -m dashboards``: write what is generated, print rules, publish to a Grafana."""

import os
import sys
from pathlib import Path
from typing import Annotated, Final, NoReturn

import typer
import yaml
from pydantic import TypeAdapter, ValidationError

from dashboards import generate
from dashboards.grafana import Grafana, GrafanaError
from dashboards.publish import publish
from dashboards.rules.alert import RulesError
from dashboards.rules.groups import rules as all_rules
from dashboards.rules.values import Duration, Values
from deadwatch.runtime.one_line import OneLine
from deadwatch.runtime.process import REFUSED, SettingsError
from deadwatch.runtime.settings_file import read_yaml

TOKEN: Final = "GRAFANA_TOKEN"  # noqa: S105 -- the name of a variable
PASSWORD: Final = "GRAFANA_PASSWORD"  # noqa: S105 -- the name of a variable

app = typer.Typer(
    name="python -m dashboards", cls=OneLine, pretty_exceptions_enable=False, rich_markup_mode=None
)


@app.command("generate")
def write() -> None:
    """Write dashboards, rules, the table of signals and missing runbooks; says what has changed.

    python -m dashboards generate
    """
    for path in (*generate.write(), *generate.write_docs()):
        print(path)


@app.command()
def rules(
    *,
    values: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Thresholds and switches, YAML.")
    ] = None,
) -> None:
    """Print the alert and recording rules for Prometheus.

    python -m dashboards rules --values values.yaml > deadwatch-rules.yaml
    """
    try:
        given = read_yaml(values) if values else {}
        made = all_rules(Values.model_validate(given or {}))
    except SettingsError as error:
        _refuse(str(error))
    except OSError as error:
        _refuse(f"{values}: {error.strerror}")
    except (UnicodeDecodeError, yaml.YAMLError, RulesError) as error:
        _refuse(f"{values}: {' '.join(str(error).split())}")
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        _refuse(f"{values}: {'.'.join(map(str, first['loc']))}: {first['msg']}")
    print(generate.as_yaml(made), end="")


def _duration(text: str) -> str:
    try:
        return text and TypeAdapter(Duration).validate_python(text)
    except ValidationError:
        raise typer.BadParameter(f"{text!r} is not a duration as 30s or 1m") from None


@app.command("publish")
def push(
    *,
    url: Annotated[str, typer.Option(metavar="URL", help="Of Grafana.")],
    user: Annotated[str, typer.Option(help=f"With {PASSWORD}; without, {TOKEN} is used.")] = "",
    folder: Annotated[str, typer.Option(help="Title of the folder.")] = "Deadwatch",
    datasource_url: Annotated[
        str, typer.Option(metavar="URL", help="Also make a data source for this Prometheus.")
    ] = "",
    scrape_interval: Annotated[
        str,
        typer.Option(
            metavar="DURATION",
            callback=_duration,
            help="How often that Prometheus scrapes the api, where it is not each 15s.",
        ),
    ] = "",
    service_account: Annotated[
        str, typer.Option(metavar="NAME", help="Also make a viewer's token of this name, and print it.")
    ] = "",
    deadwatch_url: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="Where the links of panels go: the api, as browsers reach it. Unless said: where they went.",
        ),
    ] = "",
    overwrite: Annotated[
        bool, typer.Option(help="Also what somebody saves while this runs, or a dashboard of the same title.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change.")] = False,
) -> None:
    """Bring folder, dashboards and data source to a Grafana; doing it again changes nothing.

    GRAFANA_TOKEN=… python -m dashboards publish --url https://grafana.example.com --dry-run
    """
    try:
        with Grafana(url, _credentials(user), dry_run=dry_run) as grafana:
            for change in publish(
                grafana,
                folder=folder,
                datasource_url=datasource_url,
                scrape_interval=scrape_interval,
                service_account=service_account,
                deadwatch_url=deadwatch_url,
                overwrite=overwrite,
            ):
                print(change)
    except GrafanaError as error:
        _refuse(str(error))


def _credentials(user: str) -> str | tuple[str, str]:
    """A token, or a user with a password; the secret is in the environment, no list of processes shows it."""
    name = PASSWORD if user else TOKEN
    secret = os.environ.get(name, "")
    if not secret:
        _refuse(f"set {name} in the environment; --user NAME asks for {PASSWORD} instead of {TOKEN}")
    return (user, secret) if user else secret


def _refuse(line: str) -> NoReturn:
    sys.stderr.write(f"dashboards: {line}\n")
    raise typer.Exit(REFUSED)


if __name__ == "__main__":
    app()
