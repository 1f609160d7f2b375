"""What ``/metrics`` of a service says."""

from prometheus_client.parser import text_string_to_metric_families

from tests import http


def figure(url: str, name: str, **labels: str) -> int:
    """The sum of the samples of a metric that have these labels.

    Lines of other metrics are not parsed: who waits asks often.
    """
    lines = http.get(f"{url}/metrics").raise_for_status().text.splitlines(keepends=True)
    families = text_string_to_metric_families("".join(line for line in lines if line.startswith(name)))
    samples = [sample for family in families for sample in family.samples]
    return int(sum(s.value for s in samples if s.name == name and labels.items() <= s.labels.items()))
