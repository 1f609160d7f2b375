"""The options of commands that run on the service's own settings; they load none of them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

DATA = Path("deadwatch-data")
Bootstrap = Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Your Kafka; several by commas.")]
Data = Annotated[Path, typer.Option(metavar="DIR", help="The only place that is written to.")]
Config = Annotated[Path | None, typer.Option(metavar="FILE", help="Settings as YAML (deadwatch.yaml).")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of the command line, as Typer reads them; None and empty: not given."""

    bootstrap_servers: Bootstrap = None
    connect_url: Annotated[
        list[str] | None, typer.Option(metavar="URL", help="A Connect REST URL; repeatable.")
    ] = None
    jolokia_url: Annotated[
        str, typer.Option(metavar="TEMPLATE", help="Jolokia of its workers, as http://{host}:8778/jolokia")
    ] = ""
    broker_jolokia_url: Annotated[
        list[str] | None, typer.Option(metavar="URL", help="Jolokia of a broker; repeatable.")
    ] = None
    log: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="Log files to follow; repeatable.")
    ] = None
    data: Data = DATA
    port: Annotated[
        int | None, typer.Option(min=0, max=65_535, metavar="PORT", help="Of the api; 0: any.")
    ] = None
    config: Config = None
