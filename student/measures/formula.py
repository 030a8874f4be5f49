"""Attention's formula in numpy, for the lesson's demonstrations."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class FourSteps:
    """One pass of the formula, every step kept."""

    query: np.ndarray  # (L, d_k)
    key: np.ndarray  # (L, d_k)
    value: np.ndarray  # (L, d_v)
    scores: np.ndarray  # (L, L)
    scaled: np.ndarray  # (L, L)
    weights: np.ndarray  # (L, L)
    output: np.ndarray  # (L, d_v)


def softmax(scores: np.ndarray) -> np.ndarray:
    """Return exp(scores), each row divided by its sum; -inf becomes exactly 0."""
    exps = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exps / exps.sum(axis=-1, keepdims=True)


def attend(query: np.ndarray, key: np.ndarray, value: np.ndarray, causal: bool = False) -> FourSteps:
    """Run the formula on (..., L, d_k), (..., L, d_k), (..., L, d_v); causal blocks keys j > i."""
    scores = np.matmul(query, np.swapaxes(key, -2, -1))
    scaled = scores * key.shape[-1] ** -0.5
    if causal:
        future = np.triu_indices(scores.shape[-1], 1)
        scaled[..., future[0], future[1]] = -np.inf
    weights = softmax(scaled)
    return FourSteps(query, key, value, scores, scaled, weights, np.matmul(weights, value))


def four_steps() -> FourSteps:
    """Return the four steps for three tokens with d_k = d_v = 2, small enough to follow by hand."""
    query = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    key = np.array([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    value = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])
    return attend(query, key, value)
