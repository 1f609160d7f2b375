"""Whether the identity provider answers, where one is set up."""

from collections.abc import Iterator

from api.checks.finding import Finding, fail, ok, short
from api.discovery import UNREADABLE, discovered
from api.oidc_settings import OidcSettings


def identity(settings: OidcSettings) -> Iterator[Finding]:
    """Its discovery document, as it is now."""
    if not settings.enabled:
        return
    try:
        discovered(settings)
    except UNREADABLE as error:
        seen = f"{settings.issuer} does not tell of itself: {short(error)}"
        yield fail("identity", seen, "check oidc.issuer and the way there: until then nobody signs in by it")
        return
    signs_in = "people sign in there" if settings.signs_in else "its JWTs are taken"
    yield ok("identity", f"{settings.issuer} answers, {signs_in}")
