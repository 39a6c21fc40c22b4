"""What a `with` block sets up is taken away, whatever ends it."""

import pytest

from argosy.testbed.block import Block


class Told(Block):
    """Writes down what happens to it; breaks half way on demand."""

    def __init__(self, breaks: bool) -> None:
        self.breaks, self.told = breaks, []

    def _begin(self) -> None:
        self.told.append("begun")
        if self.breaks:
            raise OSError("half way")

    def _end(self) -> None:
        self.told.append("ended")


def test_a_block_ends_once_after_its_body() -> None:
    block = Told(False)
    with block as entered:
        assert entered is block
        assert block.told == ["begun"]
    assert block.told == ["begun", "ended"]


def test_a_beginning_that_breaks_is_ended_and_told() -> None:
    block = Told(True)
    with pytest.raises(OSError, match="half way"), block:
        pytest.fail("the body runs")
    assert block.told == ["begun", "ended"]


def test_a_body_that_breaks_is_ended_and_told() -> None:
    block = Told(False)
    with pytest.raises(ValueError, match="body"), block:
        raise ValueError("body")
    assert block.told == ["begun", "ended"]
