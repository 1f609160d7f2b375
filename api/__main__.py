"""``python -m api``: metrics and answers over HTTP until SIGTERM or SIGINT."""

import gc
import logging
import signal
import socket
import sys

import uvicorn

from api.app import create_app
from api.connections import BoundedProtocol, BoundedWarnings
from api.settings import ApiSettings
from deadwatch.deadletter.dialects import read_as
from deadwatch.runtime.process import REFUSED, leave_records_alone
from deadwatch.runtime.settings_file import begin

GRACEFUL_SHUTDOWN_S = 3
logger = logging.getLogger("api")


def main() -> None:
    """Serve until asked to stop; exit code 0 then, 2 when the settings or the port cannot be used."""
    leave_records_alone()
    settings = begin(ApiSettings, "Serves metrics and the API from the store.")
    read_as(settings.reading)
    for chatty in ("uvicorn.error", "uvicorn.asgi"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    logging.getLogger("uvicorn.error").addFilter(BoundedWarnings())
    listener = _listen(settings)
    server = uvicorn.Server(server_config(settings))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: setattr(server, "should_exit", True))
    gc.collect()
    gc.freeze()  # what is loaded stays: to look through all of it again takes longer than most answers
    host, port = listener.getsockname()[:2]
    logger.info("listening on http://%s:%d", f"[{host}]" if ":" in host else host, port)
    server.run(sockets=[listener])


def server_config(settings: ApiSettings) -> uvicorn.Config:
    """The api as uvicorn serves it: only trusted proxies may say whose request it is."""
    return uvicorn.Config(
        create_app(settings),
        http=BoundedProtocol,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=list(settings.trusted_proxies),
        timeout_graceful_shutdown=GRACEFUL_SHUTDOWN_S,
    )


def _listen(settings: ApiSettings) -> socket.socket:
    """The socket to serve on; ends the process with one line on stderr where it cannot be opened."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        listener = socket.create_server((settings.host, settings.port), family=family)
    except OSError as error:
        sys.stderr.write(
            f"api: cannot listen on {settings.host}:{settings.port}: {error.strerror or error}; stop what "
            "uses the port or choose another one (variable API_PORT)\n"
        )
        sys.exit(REFUSED)
    # Connections inherit it; without, a small answer waits 40 ms for the client's delayed acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


if __name__ == "__main__":
    main()
