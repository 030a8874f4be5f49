"""Tier 4, equivalence at 1e-16: float64 outputs against exact arithmetic.

float64 rounds at 2.2e-16 of a number, so 1e-16 is out of reach for outputs of order 1. But an output's
error is proportional to the values, and a power of two rounds nothing: with values of order 2^-5 (for
multi-head attention, W_O of order 2^-7 / sqrt(d_model)) every right way of writing it passes, and float32
anywhere inside fails by seven orders of magnitude. torch's own error on the same inputs is printed beside.
"""

import math

import pytest
import torch
import torch.nn.functional as F

from grader.judge import oracle
from grader.test_3_equivalence_1e_6 import torch_multi_head_attention

TOLERANCE = 1e-16


@pytest.mark.scaling
def test_scores_in_float64(student, draw, expect):
    """Scores of float64 queries and keys are float64 throughout, the square root too (math.sqrt is)."""
    query, key = draw.query() * 2**-4, draw.key() * 2**-4
    plain = query @ key.mT / math.sqrt(query.shape[-1])
    expect.close_to_exact(
        student.attention_scores(query, key), oracle.exact_scores(query, key), TOLERANCE, plain
    )


@pytest.mark.mask
def test_weights_in_float64(student, draw, expect):
    """Weights of float64 scores, used to mix small values: the softmax is in float64 throughout."""
    scores, mask, value = draw.scores(), draw.mask(), draw.value() * 2**-5
    truth = oracle.exact_mix(oracle.exact_weights(oracle.exact(scores), mask), value)
    torch_weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
    weights = student.attention_weights(scores, mask)
    expect.shape(weights, *scores.shape)
    expect.dtype(weights, torch.float64)
    expect.finite(weights)
    mixed = oracle.rounded(oracle.exact_mix(oracle.exact(weights), value))
    expect.close_to_exact(mixed, truth, TOLERANCE, torch_weights @ value)


@pytest.mark.head_split
def test_splitting_heads_rounds_nothing(student, draw, expect):
    """A split only moves numbers: in float64 they come out to the last bit."""
    s = draw.sizes
    module = student.multi_head_attention(s.d_model, s.H)
    x = draw.tokens()
    truth = oracle.split_heads(x, s.H)
    expect.close_to_exact(module.split_heads(x), oracle.exact(truth), TOLERANCE, truth)


@pytest.mark.W_O
def test_combining_heads_in_float64(student, draw, expect):
    """The projection by W_O is in float64 throughout."""
    s = draw.sizes
    projections = draw.output_projection()
    projections["W_O"] *= 2**-7
    module = student.multi_head_attention(s.d_model, s.H, projections)
    heads = draw.heads()
    plain = oracle.combine_heads(heads, projections["W_O"])
    truth = oracle.exact_combine_heads(heads, projections["W_O"])
    expect.close_to_exact(module.combine_heads(heads), truth, TOLERANCE, plain)


@pytest.mark.weight(2)
def test_attention_in_float64(student, draw, expect):
    """Attention in float64 is as exact as float64 allows: nothing inside it falls back to float32."""
    query, key, value = draw.query(), draw.key(), draw.value() * 2**-5
    mask = draw.mask()
    output, _ = student.scaled_dot_product_attention(query, key, value, mask)
    truth = oracle.exact_attention(query, key, value, mask)
    expect.close_to_exact(output, truth, TOLERANCE, F.scaled_dot_product_attention(query, key, value, mask))


@pytest.mark.weight(2)
def test_multi_head_attention_in_float64(student, draw, expect):
    """Projections, heads and W_O in float64 throughout, under the causal mask."""
    s = draw.sizes
    x, projections = draw.tokens(), draw.projections()
    projections["W_O"] *= 2**-7
    mask = oracle.causal_mask(s.L)
    output, _ = student.multi_head_attention(s.d_model, s.H, projections).forward(x, mask)
    truth = oracle.exact_multi_head_attention(x, projections, s.H, mask)
    torch_output = torch_multi_head_attention(x, projections, s.H, mask)
    expect.close_to_exact(output, truth, TOLERANCE, torch_output)
