"""The truth: attention written as naive loops, the lesson's definition of it.

Twice: in float64, with autograd, for everything; and exactly, for the tier at 1e-16, where float64 itself
is too coarse a ruler. Exact numbers are whole numbers of 2^-150 (1e-45), which Python multiplies and adds
without rounding; mpmath has the exponential. Nothing here calls torch's own attention or softmax.
Leading dimensions ("...") ride along; the loops run over queries and heads, the sums over keys and features.
"""

import math

import mpmath
import numpy as np
import torch
from torch import Tensor

from grader.judge.memory import remembered

_BITS = 150  # behind the binary point: far below the last bit of any float64 that matters at 1e-16
_ONE = 1 << _BITS
_mp = mpmath.MPContext()
_mp.prec = _BITS


@remembered
def causal_mask(length: int) -> Tensor:
    """Bool (L, L): True where j <= i."""
    return torch.tensor([[j <= i for j in range(length)] for i in range(length)])


@remembered
def attention_scores(query: Tensor, key: Tensor) -> Tensor:
    """(..., L_q, d_k), (..., L_k, d_k) -> (..., L_q, L_k): one dot product for each pair, over sqrt(d_k)."""
    root = math.sqrt(query.shape[-1])
    rows = [(q.unsqueeze(-2) * key).sum(-1) / root for q in query.unbind(-2)]
    return torch.stack(rows, dim=-2)


@remembered
def attention_weights(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """(..., L_q, L_k) -> (..., L_q, L_k): exp of each allowed score over the sum of the row."""
    allowed = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask.expand(scores.shape)
    rows = []
    for row, may in zip(scores.unbind(-2), allowed.unbind(-2), strict=True):
        row = torch.where(may, row, -math.inf)
        exps = torch.exp(row - row.amax(-1, keepdim=True))  # exp(-inf) = 0: blocked keys are not in the sum
        rows.append(exps / exps.sum(-1, keepdim=True))
    return torch.stack(rows, dim=-2)


@remembered
def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """-> output (..., L_q, d_v), weights (..., L_q, L_k): each output is a weighted sum of the values."""
    weights = attention_weights(attention_scores(query, key), mask)
    rows = [(row.unsqueeze(-1) * value).sum(-2) for row in weights.unbind(-2)]
    return torch.stack(rows, dim=-2), weights


@remembered
def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """(B, L, d_model) -> (B, H, L, d_head): head h owns features h * d_head to (h + 1) * d_head."""
    d_head = x.shape[-1] // n_heads
    return torch.stack([x[..., h * d_head : (h + 1) * d_head] for h in range(n_heads)], dim=1)


def combine_heads(heads: Tensor, w_o: Tensor) -> Tensor:
    """(B, H, L, d_head) -> (B, L, d_model): the heads side by side, then W_O."""
    return torch.cat(list(heads.unbind(1)), dim=-1) @ w_o.T


@remembered
def multi_head_attention(
    x: Tensor, projections: dict[str, Tensor], n_heads: int, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """(B, L, d_model) -> output (B, L, d_model), weights (B, H, L, L); one attention for each head.

    projections: "W_Q", "W_K", "W_V", "W_O" -> (d_model, d_model), as nn.Linear keeps them (y = x W^T).
    """
    query, key, value = (split_heads(x @ projections[name].T, n_heads) for name in ("W_Q", "W_K", "W_V"))
    if mask is not None:
        mask = mask.expand(x.shape[0], n_heads, x.shape[1], x.shape[1])
    outputs, weights = zip(
        *(
            attention(query[:, h], key[:, h], value[:, h], None if mask is None else mask[:, h])
            for h in range(n_heads)
        ),
        strict=True,
    )
    return combine_heads(torch.stack(outputs, dim=1), projections["W_O"]), torch.stack(weights, dim=1)


def exact(tensor: Tensor) -> np.ndarray:
    """The numbers of a finite tensor as an array of whole numbers of 2^-150."""
    ratios = map(float.as_integer_ratio, tensor.detach().double().flatten().tolist())
    return _array([(above << _BITS) // below for above, below in ratios], tensor.shape)


def rounded(array: np.ndarray) -> Tensor:
    """An exact array as a float64 tensor."""
    return torch.tensor([number / _ONE for number in array.flat], dtype=torch.float64).reshape(array.shape)


def _array(numbers: list, shape: tuple[int, ...]) -> np.ndarray:
    return np.array(numbers, dtype=object).reshape(shape)


def _product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """(n, k) times (m, k) transposed -> (n, m)."""
    return left @ right.T >> _BITS


def _over_root(array: np.ndarray, d_k: int) -> np.ndarray:
    """An array divided by the square root of d_k."""
    return array * _ONE // math.isqrt(d_k * _ONE**2)


def _exp(number: int) -> int:
    return _mp.exp(_mp.mpf((number, -_BITS))).to_fixed(_BITS)


def _exact_row(scores: np.ndarray, allowed: list[bool]) -> list[int]:
    peak = max(score for score, may in zip(scores, allowed, strict=True) if may)
    exps = [_exp(score - peak) if may else 0 for score, may in zip(scores, allowed, strict=True)]
    total = sum(exps)
    return [number * _ONE // total for number in exps]


@remembered
def exact_scores(query: Tensor, key: Tensor) -> np.ndarray:
    """`attention_scores`, exactly: (..., L_q, L_k)."""
    pairs = zip(_slices(exact(query)), _slices(exact(key)), strict=True)
    scores = [_over_root(_product(q, k), query.shape[-1]) for q, k in pairs]
    return _array(scores, (*query.shape[:-1], key.shape[-2]))


@remembered
def exact_weights(scores: np.ndarray, mask: Tensor | None = None) -> np.ndarray:
    """`attention_weights`, exactly, of exact scores (..., L_q, L_k)."""
    allowed = torch.ones(scores.shape, dtype=torch.bool) if mask is None else mask.expand(scores.shape)
    rows = zip(
        scores.reshape(-1, scores.shape[-1]), allowed.reshape(-1, scores.shape[-1]).tolist(), strict=True
    )
    return _array([_exact_row(row, may) for row, may in rows], scores.shape)


def exact_mix(weights: np.ndarray, value: Tensor) -> np.ndarray:
    """Exact weights (..., L_q, L_k) times values (..., L_k, d_v) -> (..., L_q, d_v)."""
    pairs = zip(_slices(weights), _slices(exact(value)), strict=True)
    return _array([_product(w, v.T) for w, v in pairs], (*weights.shape[:-1], value.shape[-1]))


@remembered
def exact_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> np.ndarray:
    """The output of `attention`, exactly: (..., L_q, d_v)."""
    return exact_mix(exact_weights(exact_scores(query, key), mask), value)


@remembered
def exact_combine_heads(heads: np.ndarray | Tensor, w_o: Tensor) -> np.ndarray:
    """`combine_heads`, exactly: (B, L, d_model)."""
    heads = exact(heads) if isinstance(heads, Tensor) else heads
    w_o = exact(w_o)
    return np.array([_product(np.concatenate(list(sample), axis=-1), w_o) for sample in heads], dtype=object)


@remembered
def exact_multi_head_attention(
    x: Tensor, projections: dict[str, Tensor], n_heads: int, mask: Tensor | None = None
) -> np.ndarray:
    """The output of `multi_head_attention`, exactly: (B, L, d_model)."""
    length, d_head = x.shape[1], x.shape[2] // n_heads
    allowed = None if mask is None else mask.expand(x.shape[0], n_heads, length, length)
    weights = {name: exact(weight) for name, weight in projections.items()}
    samples = []
    for b, sample in enumerate(exact(x)):
        heads = []
        for h in range(n_heads):
            own = slice(h * d_head, (h + 1) * d_head)
            query, key, value = (_product(sample, weights[name][own]) for name in ("W_Q", "W_K", "W_V"))
            scores = _over_root(_product(query, key), d_head)
            heads.append(_product(exact_weights(scores, None if mask is None else allowed[b, h]), value.T))
        samples.append(heads)
    return exact_combine_heads(np.array(samples, dtype=object), projections["W_O"])


def max_error(actual: Tensor, truth: np.ndarray) -> float:
    """Largest absolute difference between a finite tensor and an exact array of its shape."""
    return max(abs(exact(actual) - truth).flat) / _ONE


def _slices(array: np.ndarray) -> np.ndarray:
    """(..., n, k) -> (all leading dimensions in one, n, k)."""
    return array.reshape(-1, *array.shape[-2:])
