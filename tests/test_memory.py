"""The oracle computes each answer once, and nobody can tell but by the clock."""

import numpy as np
import pytest
import torch

from grader.judge import memory, oracle
from grader.judge.memory import remembered


@pytest.fixture
def counted():
    """A remembered function, and what it was really called with."""
    calls = []

    @remembered
    def double(*args):
        calls.append(args)
        first = args[0]["W"] if isinstance(args[0], dict) else args[0]
        return 2 * first, first

    return double, calls


@pytest.mark.parametrize(
    "value", [torch.ones(2, 3), {"W": torch.ones(3)}, np.array([1 << 200, 3], dtype=object)]
)
def test_the_same_numbers_are_computed_once(counted, value):
    double, calls = counted
    again = {"W": value["W"].clone()} if isinstance(value, dict) else value + 0
    first, second = double(value, None, 3), double(again, None, 3)
    assert len(calls) == 1
    assert all((one == other).all() for one, other in zip(first, second, strict=True))


@pytest.mark.parametrize(
    "other",
    [
        (torch.ones(3, 2), None),
        (torch.ones(2, 3, dtype=torch.float64), None),
        (torch.ones(2, 3).index_fill(0, torch.tensor(1), 1 + 1e-7), None),
        (torch.ones(2, 3), torch.ones(2, 3, dtype=torch.bool)),
        (torch.ones(2, 3), None, 1),
        ({"W": torch.ones(2, 3)}, None),
    ],
)
def test_other_inputs_are_computed(counted, other):
    double, calls = counted
    double(torch.ones(2, 3), None)
    double(*other)
    assert len(calls) == 2


def test_an_answer_that_is_changed_changes_no_other():
    query, key = torch.randn(2, 3), torch.randn(4, 3)
    oracle.attention_scores(query, key).zero_()
    assert torch.allclose(oracle.attention_scores(query, key), query @ key.T / 3**0.5)
    scores = oracle.exact_scores(query, key)
    scores[:] = 0
    assert oracle.max_error(query @ key.T / 3**0.5, oracle.exact_scores(query, key)) < 1e-6


def test_autograd_gets_an_answer_of_its_own(counted):
    double, calls = counted
    for value in (torch.ones(3), torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)):
        result, _ = double(value)
        assert result.requires_grad == value.requires_grad
    assert len(calls) == 3


def test_memory_is_bounded(counted, monkeypatch):
    monkeypatch.setattr(memory, "MOST", 3)
    double, calls = counted
    for number in (1, 2, 3, 4, 1, 4):
        double(torch.tensor(number))
    assert [int(first) for first, *_ in calls] == [1, 2, 3, 4, 1]
