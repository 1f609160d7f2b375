"""What was said on the command line as the body of ``POST /api/v1/redrives``; the api judges it."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final

import typer

from deadwatch.api_client import SaidError
from streaming.redrive import order_options
from streaming.redrive.order_fields import SETTING
from streaming.redrive.order_options import OPTIONS, SET, Option
from streaming.redrive.order_texts import SWITCH

SETTINGS: Final = "settings"
Said = Mapping[str, Any]
"""What Typer has read, by parameter."""


def body(dlq_topic: str, said: Said) -> dict[str, Any]:
    """The request, a dry run. Raises ``SaidError``."""
    texts = {option.name: text for option in OPTIONS if (text := _text(said.get(_name(option)))) is not None}
    try:
        asked = order_options.request(dlq_topic, texts, said.get(SETTINGS) or ())
    except ValueError as error:
        raise SaidError(str(error)) from None
    if "selection" not in asked:
        raise SaidError("which records? say --all, --group, --filter, --offsets, --record, --from or --to")
    if "reason" not in asked:
        raise SaidError("why? say --reason TEXT: it is kept with the order")
    return asked


def with_options(command: Callable[..., int]) -> Callable[..., int]:
    """``command`` takes every option of a request, and ``--set``, as keywords."""
    signature = inspect.signature(command, eval_str=True)
    own = list(signature.parameters.values())
    first = [one for one in own if one.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    last = [one for one in own if one.kind is inspect.Parameter.KEYWORD_ONLY]
    parameters = [*first, *(_parameter(option) for option in OPTIONS), _settings(), *last]
    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # read by Typer
    return command


def _parameter(option: Option) -> inspect.Parameter:
    if option.kind is SWITCH:
        return _keyword(_name(option), bool, typer.Option(False, option.name, help=option.help))
    kind = list[str] | None if option.kind.many else str | None
    told = typer.Option(None, option.name, metavar=option.metavar, help=option.help)
    return _keyword(_name(option), kind, told)


def _settings() -> inspect.Parameter:
    told = typer.Option(None, SET, metavar="PATH=VALUE", help=f"Any other field of a request: {SETTING}.")
    return _keyword(SETTINGS, list[str] | None, told)


def _keyword(name: str, kind: object, told: object) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=told, annotation=kind)


def _name(option: Option) -> str:
    return option.path.replace(".", "_")


def _text(said: str | bool | list[str] | None) -> str | None:
    """What an option says as one text; None: it was not given."""
    if isinstance(said, bool):
        return "true" if said else None
    return "\n".join(said) or None if isinstance(said, list) else said
