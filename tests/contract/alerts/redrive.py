"""Redrives: records come back, orders stand still, records are parked."""

from tests.contract.alerts.case import DLQ, ON_TOPIC, OURS, PARKED, SENT, Case, Firing, counter, gauge

BOUNCED = f'deadwatch_redrive_records_total{{{DLQ}, target_topic="a", outcome="bounced"}}'
STUCK = 'deadwatch_redrive_stuck_jobs{status="RUNNING"}'
PAUSED = 'deadwatch_redrive_stuck_jobs{status="PAUSED"}'
BOUNCES = Firing(ON_TOPIC, "{} of what is put back from dlq.a comes back")
STANDS = Firing({**OURS, "status": "RUNNING"}, "{} redrives are RUNNING and move nothing")
STUCK_PAUSED = Firing({**OURS, "status": "PAUSED"}, "{} redrives are PAUSED and move nothing")

CASES: dict[str, list[Case]] = {
    "DeadwatchRecordsParked": counter(PARKED, Firing(ON_TOPIC, "5 records of dlq.a were parked")),
    "DeadwatchRedriveStuck": [
        *gauge(PAUSED, STUCK_PAUSED, wait_m=15),
        STANDS.case(
            "fires when an order runs and moves nothing, while others move",
            {STUCK: "1x60", PAUSED: "0x60", SENT: "7+1x60"},
            "40m",
            "1",
        ),
        Case("is silent while each moves or waits", {STUCK: "0x60", PAUSED: "0x60", SENT: "7x60"}, "40m"),
    ],
    "DeadwatchRedriveBounces": [
        BOUNCES.case(
            "fires when more than a fifth comes back", {SENT: "0x9 10x60", BOUNCED: "0x9 4x60"}, "16m", "40%"
        ),
        Case("is silent when little comes back", {SENT: "0x9 10x60", BOUNCED: "0x9 1x60"}, "16m"),
        Case("is silent while idle", {SENT: "10x60", BOUNCED: "4x60"}, "16m"),
        Case("resolves", {SENT: "0x9 10x300", BOUNCED: "0x9 4x300"}, "90m"),
        Case("is silent without series", {}, "16m"),
    ],
}
