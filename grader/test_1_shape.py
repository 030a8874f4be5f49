"""Tier 1, shape: every function returns tensors of the right sizes and type, whatever sizes come in."""

import itertools

import pytest
import torch

from grader.judge.exercise import PROJECTIONS

LEADING = [(), (3,), (2, 3), (4, 2, 3)]


@pytest.mark.mask
def test_causal_mask_is_a_square_of_bools(student, expect):
    """A causal mask has a row for each query and a column for each key, and says yes or no: bool (L, L)."""
    for length in (1, 4, 7, 130):
        mask = student.causal_mask(length)
        expect.shape(mask, length, length)
        expect.dtype(mask, torch.bool)


@pytest.mark.mask
def test_weights_have_the_shape_of_the_scores(student, draw, expect):
    """Each score becomes one weight, so (..., L_q, L_k) stays as it is, for any leading dimensions."""
    kinds = itertools.cycle(("no mask", "queries and keys", "no mask", "keys alone", "everything"))
    for leading in [*LEADING, (1,), (1, 3), (2, 1)]:
        for l_q, l_k in ((6, 6), (5, 7), (1, 7), (5, 1)):
            scores = draw.normal(*leading, l_q, l_k)
            sizes = {"queries and keys": (l_q, l_k), "keys alone": (1, l_k), "everything": scores.shape}
            kind = next(kinds)
            mask = () if kind == "no mask" else (draw.bools(*sizes[kind]),)
            expect.shape(student.attention_weights(scores, *mask), *leading, l_q, l_k)


@pytest.mark.mask
def test_weights_keep_the_dtype(student, draw, expect):
    """float32 scores give float32 weights, float64 gives float64: the caller chose the precision."""
    for dtype in (torch.float32, torch.float64):
        expect.dtype(student.attention_weights(draw.scores(dtype), draw.mask()), dtype)


@pytest.mark.scaling
def test_scores_pair_every_query_with_every_key(student, draw, expect):
    """L_q queries against L_k keys give an L_q x L_k table; d_k is summed away. L_q and L_k may differ."""
    for leading in [*LEADING, (1,), (1, 3), (2, 1)]:
        for l_q, l_k, d_k in ((6, 6, 12), (5, 7, 10), (1, 7, 3), (5, 1, 8)):
            query, key = draw.normal(*leading, l_q, d_k), draw.normal(*leading, l_k, d_k)
            expect.shape(student.attention_scores(query, key), *leading, l_q, l_k)


@pytest.mark.scaling
def test_scores_keep_the_dtype(student, draw, expect):
    """float32 queries and keys give float32 scores, float64 gives float64."""
    for dtype in (torch.float32, torch.float64):
        query, key = draw.query(dtype), draw.key(dtype)
        for _ in range(2):  # the second time too
            expect.dtype(student.attention_scores(query, key), dtype)


@pytest.mark.head_split
def test_split_heads_makes_a_dimension_of_heads(student, draw, expect):
    """(B, L, d_model) becomes (B, H, L, d_head) with d_model = H * d_head, also for one sample or token."""
    s = draw.sizes
    module = student.multi_head_attention(s.d_model, s.H)
    for batch, length in ((s.B, s.L), (1, s.L), (s.B, 1)):
        heads = module.split_heads(draw.normal(batch, length, s.d_model))
        expect.shape(heads, batch, s.H, length, s.d_head)


@pytest.mark.W_O
def test_combine_heads_gives_back_tokens(student, draw, expect):
    """(B, H, L, d_head) becomes (B, L, d_model): the residual stream needs the width that it had."""
    s = draw.sizes
    module = student.multi_head_attention(s.d_model, s.H, draw.output_projection())
    for batch, length in ((s.B, s.L), (1, s.L), (s.B, 1)):
        tokens = module.combine_heads(draw.normal(batch, s.H, length, s.d_head))
        expect.shape(tokens, batch, length, s.d_model)


def test_attention_takes_any_leading_dimensions(student, draw, expect):
    """Attention works on the last two dimensions; none to three others ride along. d_v need not be d_k."""
    for leading in LEADING:
        query, key = draw.normal(*leading, 5, 10), draw.normal(*leading, 7, 10)
        value = draw.normal(*leading, 7, 6)
        output, weights = student.scaled_dot_product_attention(query, key, value)
        expect.shape(output, *leading, 5, 6)
        expect.shape(weights, *leading, 5, 7)


def test_multi_head_attention_keeps_the_shape_of_the_tokens(student, draw, expect):
    """Tokens go in and tokens come out, with one (L, L) table of weights for each head."""
    s = draw.sizes
    module = student.multi_head_attention(s.d_model, s.H, draw.projections())
    for batch, length in ((s.B, s.L), (1, s.L), (s.B, 1)):
        output, weights = module.forward(draw.normal(batch, length, s.d_model))
        expect.shape(output, batch, length, s.d_model)
        expect.shape(weights, batch, s.H, length, length)


def test_multi_head_attention_keeps_the_dtype(student, draw, expect):
    """A module of float32 weights works in float32, one of float64 in float64."""
    s = draw.sizes
    for dtype in (torch.float32, torch.float64):
        module = student.multi_head_attention(s.d_model, s.H, draw.projections(dtype))
        for result in module.forward(draw.tokens(dtype), draw.token_mask()):
            expect.dtype(result, dtype)


def test_parameters_are_four_square_matrices(student, draw, expect):
    """All that attention learns is W_Q, W_K, W_V and W_O, each (d_model, d_model), without a bias."""
    s = draw.sizes
    module = student.multi_head_attention(s.d_model, s.H)
    module.forward(draw.tokens(torch.float32))  # given code earns nothing before the TODOs work
    parameters = module.parameters()
    for name in PROJECTIONS:
        expect.that(f"{name}.weight" in parameters, "no_parameter", name=f"{name}.weight")
        expect.shape(parameters[f"{name}.weight"], s.d_model, s.d_model)
    count = sum(parameter.numel() for parameter in parameters.values())
    expect.that(count == 4 * s.d_model**2, "parameter_count", actual=count, expected=4 * s.d_model**2)


def test_heads_must_divide_the_model(student, draw, expect):
    """d_model that n_heads does not divide has no whole d_head: the constructor raises ValueError."""
    s = draw.sizes
    student.multi_head_attention(s.d_model, s.H).forward(draw.tokens(torch.float32))  # as above
    raised = student.multi_head_attention(s.d_model + 1, s.H).raised_when_built()
    expect.that(
        raised == "ValueError", "no_value_error", d_model=s.d_model + 1, n_heads=s.H, raised=raised or "-"
    )
