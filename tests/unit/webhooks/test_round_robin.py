from hypothesis import given
from hypothesis import strategies as st

from alama.webhooks.slots import rounds


@given(st.lists(st.integers(0, 5), max_size=6))
def test_everything_comes_once_and_nobody_twice_before_another_who_still_waits(
    lengths: list[int],
) -> None:
    queues = [[(number, who) for number in range(long)] for who, long in enumerate(lengths)]
    given_out = list(rounds(queues))
    # By the number of the round, and within it in the order of the queues.
    assert given_out == sorted(one for queue in queues for one in queue)
