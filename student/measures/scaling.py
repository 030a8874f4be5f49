"""Why the scores are divided by sqrt(d_k), measured on random queries and keys."""

from dataclasses import dataclass

import numpy as np

from student.measures.formula import softmax

D_KS = (2, 4, 8, 16, 32, 64, 128, 256, 512)
PAIRS = 10_000
ROWS, KEYS = 1000, 16


@dataclass(frozen=True)
class Saturation:
    """How far softmax has gone to one-hot, over rows of 16 weights."""

    largest: float  # mean of the largest weight of a row
    gradient: float  # median norm of the softmax's Jacobian: what a gradient is multiplied with


def dot_product_variance(d_k: int) -> float:
    """Return the variance of q.k over 10000 pairs whose components are independent N(0, 1)."""
    random = np.random.default_rng(d_k)
    query, key = (random.standard_normal((PAIRS, d_k), dtype=np.float32) for _ in "qk")
    return float(np.einsum("pd,pd->p", query, key).var())


def saturation(d_k: int, scaled: bool) -> Saturation:
    """Measure the softmax of 1000 random queries, each against 16 random keys."""
    random = np.random.default_rng(d_k)
    query = random.standard_normal((ROWS, d_k))
    key = random.standard_normal((KEYS, d_k))
    scores = query @ key.T
    weights = softmax(scores / d_k**0.5 if scaled else scores)
    jacobians = weights[:, :, None] * (np.eye(KEYS) - weights[:, None, :])  # diag(p) - p p^T
    norms = np.linalg.norm(jacobians, axis=(1, 2))
    return Saturation(float(weights.max(axis=1).mean()), float(np.median(norms)))
