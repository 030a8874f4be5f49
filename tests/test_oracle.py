"""The truth is true: against PyTorch, against another arithmetic, and by its own derivatives."""

import math
from decimal import Decimal, getcontext

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from grader.judge import oracle
from grader.judge.draw import Draw

NEAR = 1e-14  # float64 at numbers of order 1
EXACT = Decimal("1e-31")  # of 34 digits


@pytest.fixture
def draw() -> Draw:
    return Draw(0, "oracle")


@pytest.fixture(params=["no mask", "causal", "one for all", "one for each sample", "one for each head"])
def mask(request, draw) -> torch.Tensor | None:
    """Masks for (B, H, L_q, L_k)."""
    s = draw.sizes
    return {
        "no mask": lambda: None,
        "causal": lambda: torch.ones(s.L_q, s.L_k, dtype=torch.bool).tril(s.L_k - s.L_q),
        "one for all": lambda: draw.bools(s.L_q, s.L_k),
        "one for each sample": lambda: draw.bools(s.B, 1, 1, s.L_k),
        "one for each head": lambda: draw.bools(s.B, s.H, s.L_q, s.L_k),
    }[request.param]()


def close(one: torch.Tensor, other: torch.Tensor, tolerance: float = NEAR) -> bool:
    """The same shape, and the same numbers but for rounding."""
    return one.shape == other.shape and bool((one - other).abs().max() <= tolerance)


def test_attention_equals_torch(draw, mask):
    query, key, value = draw.query(), draw.key(), draw.value()
    output, weights = oracle.attention(query, key, value, mask)
    assert close(output, F.scaled_dot_product_attention(query, key, value, mask))
    identity = torch.eye(draw.sizes.L_k, dtype=torch.float64).expand(*key.shape[:2], -1, -1)
    assert close(weights, F.scaled_dot_product_attention(query, key, identity, mask))


def test_scores_and_weights_equal_torch(draw, mask):
    query, key = draw.query(), draw.key()
    scores = oracle.attention_scores(query, key)
    assert close(scores, torch.einsum("bhqd,bhkd->bhqk", query, key) / math.sqrt(10))
    blocked = scores if mask is None else scores.masked_fill(~mask, -math.inf)
    assert close(oracle.attention_weights(scores, mask), torch.softmax(blocked, dim=-1))


def test_causal_mask():
    for length in (1, 2, 5):
        assert oracle.causal_mask(length).equal(torch.ones(length, length, dtype=torch.bool).tril())


def test_multi_head_attention_equals_torch(draw):
    """nn.MultiheadAttention is another implementation, with masks of the opposite meaning."""
    s = draw.sizes
    x, projections, mask = draw.tokens(), draw.projections(), draw.token_mask()
    other = torch.nn.MultiheadAttention(s.d_model, s.H, bias=False, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        other.in_proj_weight.copy_(torch.cat([projections[name] for name in ("W_Q", "W_K", "W_V")]))
        other.out_proj.weight.copy_(projections["W_O"])
        blocked = ~mask.expand(s.B, s.H, s.L, s.L).reshape(-1, s.L, s.L)
        right, right_weights = other(x, x, x, attn_mask=blocked, average_attn_weights=False)
    output, weights = oracle.multi_head_attention(x, projections, s.H, mask)
    assert close(output, right)
    assert close(weights, right_weights)


def test_splitting_and_combining_are_inverse(draw):
    s = draw.sizes
    x = draw.tokens()
    assert oracle.combine_heads(oracle.split_heads(x, s.H), torch.eye(s.d_model, dtype=x.dtype)).equal(x)
    assert oracle.split_heads(x, s.H)[1, 2, 3, 4] == x[1, 3, 2 * s.d_head + 4]


def test_each_sample_has_its_own_mask(draw):
    s = draw.sizes
    query, key, value, mask = draw.query(), draw.key(), draw.value(), draw.mask()
    together, _ = oracle.attention(query, key, value, mask)
    x, projections, token_mask = draw.tokens(), draw.projections(), draw.token_mask()
    together_heads, _ = oracle.multi_head_attention(x, projections, s.H, token_mask)
    assert not mask[0].equal(mask[1])
    for b in range(s.B):
        alone, _ = oracle.attention(query[b], key[b], value[b], mask[b])
        assert alone.equal(together[b])
        alone, _ = oracle.multi_head_attention(x[b : b + 1], projections, s.H, token_mask[b : b + 1])
        assert close(alone[0], together_heads[b])


def test_gradients_are_those_of_the_function(draw):
    def leaf(*shape):
        return draw.normal(*shape).requires_grad_()

    mask = draw.bools(2, 3, 4)
    query, key, value = leaf(2, 3, 5), leaf(2, 4, 5), leaf(2, 4, 2)
    assert torch.autograd.gradcheck(oracle.attention_scores, (query, key))
    assert torch.autograd.gradcheck(lambda s: oracle.attention_weights(s, mask), (leaf(2, 3, 4),))
    assert torch.autograd.gradcheck(lambda *qkv: oracle.attention(*qkv, mask)[0], (query, key, value))
    assert torch.autograd.gradcheck(oracle.combine_heads, (leaf(2, 3, 4, 2), leaf(6, 6)))
    names = ("W_Q", "W_K", "W_V", "W_O")
    inputs = [leaf(2, 3, 4), *(leaf(4, 4) for _ in names)]

    def multi_head(x, *weights):
        return oracle.multi_head_attention(x, dict(zip(names, weights, strict=True)), 2)[0]

    assert torch.autograd.gradcheck(multi_head, inputs)


def decimals(tensor: torch.Tensor) -> list:
    """The exact numbers of a tensor as nested lists of Decimal."""
    return [decimals(part) for part in tensor] if tensor.dim() else Decimal(float(tensor))


def dot(one: list, other: list) -> Decimal:
    return sum((a * b for a, b in zip(one, other, strict=True)), Decimal(0))


def attention_in_decimals(query: list, key: list, value: list, allowed: list) -> list:
    """One head, written a third time: 60 digits of another library."""
    root = Decimal(len(query[0])).sqrt()
    output = []
    for q, may in zip(query, allowed, strict=True):
        exps = [(dot(q, k) / root).exp() if yes else Decimal(0) for k, yes in zip(key, may, strict=True)]
        output.append([dot(exps, column) / sum(exps) for column in zip(*value, strict=True)])
    return output


def test_exact_attention_against_another_arithmetic(draw, mask):
    getcontext().prec = 60
    s = draw.sizes
    query, key, value = draw.query(), draw.key(), draw.value()
    exact = oracle.exact_attention(query, key, value, mask)
    full = torch.ones(s.B, s.H, s.L_q, s.L_k, dtype=torch.bool)
    full = full if mask is None else mask.expand(full.shape)
    for b in range(s.B):
        for h in range(s.H):
            own = (decimals(part[b, h]) for part in (query, key, value))
            other = attention_in_decimals(*own, full[b, h].tolist())
            assert far(exact[b, h], other) < EXACT
    assert oracle.max_error(oracle.attention(query, key, value, mask)[0], exact) < NEAR


def test_exact_multi_head_attention_against_another_arithmetic(draw):
    getcontext().prec = 60
    s = draw.sizes
    x, projections, mask = draw.tokens(), draw.projections(), draw.token_mask()
    exact = oracle.exact_multi_head_attention(x, projections, s.H, mask)
    weights = {name: decimals(weight) for name, weight in projections.items()}
    for b in range(s.B):
        heads = []
        for h in range(s.H):
            own = slice(h * s.d_head, (h + 1) * s.d_head)
            parts = [
                [[dot(row, token) for row in weights[name][own]] for token in decimals(x[b])]
                for name in ("W_Q", "W_K", "W_V")
            ]
            heads.append(attention_in_decimals(*parts, mask[b, 0].tolist()))
        tokens = [[number for head in own for number in head] for own in zip(*heads, strict=True)]
        assert far(exact[b], [[dot(row, token) for row in weights["W_O"]] for token in tokens]) < EXACT
    assert oracle.max_error(oracle.multi_head_attention(x, projections, s.H, mask)[0], exact) < NEAR


def far(exact: np.ndarray, other: list) -> Decimal:
    """Largest difference between whole numbers of 2^-150 and Decimal."""
    pairs = zip(exact.flatten(), np.array(other, dtype=object).flatten(), strict=True)
    return max(abs(Decimal(whole) / 2**150 - number) for whole, number in pairs)


def test_exact_parts_fit_together(draw):
    query, key, value, mask = draw.query(), draw.key(), draw.value(), draw.mask()
    scores = oracle.exact_scores(query, key)
    weights = oracle.exact_weights(scores, mask)
    mixed = oracle.exact_mix(weights, value)
    assert (mixed == oracle.exact_attention(query, key, value, mask)).all()
    assert close(oracle.rounded(scores), oracle.attention_scores(query, key))
    assert close(oracle.rounded(weights), oracle.attention_weights(oracle.rounded(scores), mask))
    heads, w_o = draw.heads(), draw.projections()["W_O"]
    assert oracle.max_error(oracle.combine_heads(heads, w_o), oracle.exact_combine_heads(heads, w_o)) < NEAR


def test_weights_of_large_scores(draw):
    """No overflow, no NaN, and blocked keys at exactly 0, wherever the scores lie."""
    mask = draw.mask()
    for scores in (1e4 * draw.scores(), draw.scores() - 1e4, draw.scores() + 1e4):
        weights = oracle.attention_weights(scores, mask)
        assert torch.isfinite(weights).all()
        assert (weights[~mask.expand(weights.shape)] == 0).all()
        assert close(weights.sum(-1), torch.ones(weights.shape[:-1], dtype=torch.float64))


def test_leading_dimensions_ride_along(draw):
    for leading in ((), (3,), (4, 2, 3)):
        query, key = draw.normal(*leading, 5, 10), draw.normal(*leading, 7, 10)
        value, mask = draw.normal(*leading, 7, 6), draw.bools(5, 7)
        output, _ = oracle.attention(query, key, value, mask)
        assert close(output, F.scaled_dot_product_attention(query, key, value, mask))
        assert oracle.max_error(output, oracle.exact_attention(query, key, value, mask)) < NEAR
