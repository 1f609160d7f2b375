"""How many samples of dead letters the store keeps."""

import pytest

from streaming.store.letters import MAX_SAMPLES, kept_of_a_group


@pytest.mark.parametrize(
    ("groups", "kept"), [(0, 5), (1, 5), (2_000, 5), (2_001, 4), (5_000, 2), (10_000, 1), (1_000_000, 1)]
)
def test_the_more_groups_the_fewer_samples_of_each(groups: int, kept: int) -> None:
    assert kept_of_a_group(5, groups) == kept
    assert groups > MAX_SAMPLES or kept * groups <= MAX_SAMPLES


def test_none_are_kept_where_none_are_wanted() -> None:
    assert kept_of_a_group(0, 7) == 0
