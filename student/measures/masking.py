"""What a causal mask must do, and what it gives for free."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from student.measures.formula import attend, softmax

FEATURES, RUNS = 64, 5  # of a timed sequence; the best run counts
ALLOWED = (2.0, 1.0)  # the scores of the keys that a query may see; a third key is the future


@dataclass(frozen=True)
class MaskRow:
    """One way of hiding the third key."""

    way: str  # "zero", "delete", "inf" or "1e9"
    weights: np.ndarray  # (3,)

    @property
    def total(self) -> float:
        """The sum of the weights: 1 if they are a distribution."""
        return float(self.weights.sum())


@dataclass(frozen=True)
class Times:
    """Seconds for one sequence, the best of several runs."""

    attention: float
    rnn: float

    @property
    def ratio(self) -> float:
        """How many times as long the RNN takes."""
        return self.rnn / self.attention


def mask_experiment() -> list[MaskRow]:
    """Hide the third key behind the scores [2, 1] in four ways; two of them are right."""
    zero, inf, large = (softmax(np.array([*ALLOWED, blocked])) for blocked in (0, -np.inf, -1e9))
    deleted = np.where([True, True, False], zero, 0)
    return [MaskRow("zero", zero), MaskRow("delete", deleted), MaskRow("inf", inf), MaskRow("1e9", large)]


def prefix_error(length: int = 64, d_k: int = 16) -> float:
    """Return the largest difference between one masked pass and `length` passes over prefixes."""
    random = np.random.default_rng(0)
    query, key, value = (random.standard_normal((length, d_k)) for _ in "qkv")
    at_once = attend(query, key, value, causal=True).output
    one_by_one = [attend(query[n - 1 : n], key[:n], value[:n]).output[0] for n in range(1, length + 1)]
    return float(np.abs(at_once - np.stack(one_by_one)).max())


def pass_times(length: int = 256, width: int = FEATURES, runs: int = RUNS) -> Times:
    """Time one masked attention pass against `length` steps of an RNN cell, of the same width."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(length, width, generator=generator)
    matrices = [torch.randn(width, width, generator=generator) / width**0.5 for _ in range(4)]
    future = torch.ones(length, length).triu(1).bool()

    def attention() -> torch.Tensor:
        query, key, value = (x @ matrix for matrix in matrices[:3])
        scores = torch.where(future, -torch.inf, query @ key.mT * width**-0.5)
        return scores.softmax(1) @ value @ matrices[3]

    def rnn() -> torch.Tensor:
        state = torch.zeros(width)
        for token in x @ matrices[0]:  # everything that need not wait is done at once, here too
            state = torch.tanh(token + state @ matrices[1])
        return state

    return Times(*(min(_seconds(layer) for _ in range(runs)) for layer in (attention, rnn)))


def _seconds(layer: Callable[[], torch.Tensor]) -> float:
    start = time.perf_counter()
    layer()
    return time.perf_counter() - start
