"""Requests to the receiver."""

PROTOBUF = {"Content-Type": "application/x-protobuf"}


def report(number: int, **more: object) -> dict[str, object]:
    body: dict[str, object] = {"id": f"id-{number}", "source": "shop", "kind": "client_timeout"}
    body |= {"happened_at_ms": 5, "client": "java", "client_id": "c", "timeout": "poll", "message": "late"}
    return body | more
