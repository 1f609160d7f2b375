"""Forms as browsers send them: read with a bound, refused without the page's own token."""

from collections.abc import Mapping
from typing import Annotated, Final
from urllib.parse import parse_qsl

from fastapi import Depends, Request

from api.console.errors import FormError
from api.console.visitor import require_token

MAX_BYTES: Final = 524_288
"""Ten thousand records that a redrive is asked for one by one have their place in it."""
MAX_FIELDS: Final = 100
KIND: Final = "application/x-www-form-urlencoded"

Form = Mapping[str, str]


async def _form(request: Request) -> Form:
    """The fields; the last of one name counts. Raises ``FormError`` and ``CrossSiteError``."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != KIND:
        raise FormError("it is no form of this page")
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BYTES:
            raise FormError(f"it is longer than {MAX_BYTES:,} bytes")
    try:
        fields = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict"
        )
    except ValueError:
        raise FormError("it cannot be read") from None
    form = {name: value.replace("\r\n", "\n").strip() for name, value in fields}
    require_token(request, form.pop("csrf", ""))
    return form


Filled = Annotated[Form, Depends(_form)]
"""The fields of a form that changes something; a request from another site never gets here."""
