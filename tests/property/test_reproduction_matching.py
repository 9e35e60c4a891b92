"""Matching against a plain scan over all integers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riftsim.errors import ResultsError
from riftsim.reproduction.matching import smallest_list


@given(
    steps=st.lists(st.floats(0.0, 0.1), min_size=1, max_size=120),
    target=st.floats(0.0, 1.0),
    least=st.integers(1, 20),
)
def test_it_finds_the_smallest_list_that_reaches_the_target(steps, target, least):
    recalls = {}
    total = 0.0
    for offset, step in enumerate(steps):
        total = min(1.0, total + step)
        recalls[least + offset] = total
    most = max(recalls)
    reaching = [size for size, recall in recalls.items() if recall >= target]
    asked = []

    def recall_at(size):
        asked.append(size)
        return recalls[size]

    if reaching:
        assert smallest_list(recall_at, target, least, most) == min(reaching)
    else:
        with pytest.raises(ResultsError, match="expected at least"):
            smallest_list(recall_at, target, least, most)
    assert len(asked) == len(set(asked))


def test_noise_does_not_leave_a_longer_list_than_needed_beside_it():
    recalls = {10: 0.90, 11: 0.952, 12: 0.949, 13: 0.951, 14: 0.96, **dict.fromkeys(range(15, 100), 0.99)}
    found = smallest_list(recalls.__getitem__, 0.95, 10, 99)
    assert recalls[found] >= 0.95
    assert recalls[found - 1] < 0.95
