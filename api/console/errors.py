"""Errors of the console.

* ConsoleError
  * FormError         a form that cannot be read
  * CrossSiteError    a change that does not come from a page of ours
  * NoProviderError   no identity provider is set up
"""

from typing import ClassVar


class ConsoleError(Exception):
    """Something the reader is told on a page."""

    status: ClassVar[int] = 400
    kind: ClassVar[str] = "console"
    title: ClassVar[str] = "This cannot be done"


class FormError(ConsoleError):
    """The form was not sent by a page of the console, or was cut."""

    kind = "unreadable-form"
    title = "The form cannot be read"


class CrossSiteError(ConsoleError):
    """Another site may not change anything here."""

    status = 403
    kind = "cross-site"
    title = "Nothing was changed"

    def __init__(self) -> None:
        super().__init__(
            "the form did not come from a page of this console, or the page was open for too long: "
            "open it again and repeat"
        )


class NoProviderError(ConsoleError):
    """Nobody signs in so here."""

    status = 404
    kind = "no-identity-provider"
    title = "There is no identity provider"

    def __init__(self) -> None:
        super().__init__("set api.oidc.issuer and api.oidc.client_id, or sign in with a token")
