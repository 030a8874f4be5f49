"""Tier 2, causality, at secret sizes, and with the masks and scores that a student should think of."""

import pytest
import torch

from grader import test_2_causality as public
from grader.judge import oracle
from grader.test_3_equivalence_1e_6 import IN_FLOAT64


@pytest.mark.mask
def test_causal_mask_of_any_length(student, draw, expect):
    """Row i allows the keys 0 to i, at any length."""
    for length in (draw.number(9, 16), draw.number(130, 260)):
        expect.equal(student.causal_mask(length), oracle.causal_mask(length))


@pytest.mark.mask
@pytest.mark.weight(2)
def test_blocked_keys_at_other_sizes(student, draw, expect):
    """Blocked keys get weight exactly 0 and have no say, in every sample."""
    public.test_blocked_keys_get_weight_zero(student, draw, expect)
    public.test_blocked_keys_do_not_change_the_others(student, draw, expect)


@pytest.mark.mask
def test_padding_masks(student, draw, expect):
    """A mask of keys alone, shared by all queries, as padding has: (B, 1, 1, L_k)."""
    s = draw.sizes
    scores, mask = draw.scores(), draw.bools(s.B, 1, 1, s.L_k)
    weights = student.attention_weights(scores, mask)
    expect.zero(weights, where=~mask)
    expect.close(weights, oracle.attention_weights(scores, mask), public.SUM)


@pytest.mark.mask
def test_rows_with_one_allowed_key(student, draw, expect):
    """A query that may see one key alone gives it the whole weight, whatever its score."""
    s = draw.sizes
    index = torch.arange(s.L_q) % s.L_k
    mask = torch.nn.functional.one_hot(index, s.L_k).bool()
    for size in (1, 1000):
        weights = student.attention_weights(size * draw.scores(), mask)
        expect.close(weights, mask.double().expand_as(weights), public.SUM)


@pytest.mark.mask
def test_large_scores(student, draw, expect):
    """Finite and exact zeros at scores of ten thousand, and below scores of minus eight thousand."""
    mask = draw.mask()
    for dtype in (torch.float32, torch.float64):
        large = 10_000 * draw.scores(dtype)
        expect.rows_sum_to_one(student.attention_weights(large), public.LARGE_SUM)
        low = torch.where(mask, draw.scores(dtype) - 8000, draw.scores(dtype))
        weights = student.attention_weights(low, mask)
        expect.zero(weights, where=~mask)
        expect.rows_sum_to_one(weights, public.LARGE_SUM)
    far = draw.number(5000, 20_000)
    for scores, allowed in ((draw.scores() + far, mask), (draw.scores() - far, None)):
        truth = oracle.attention_weights(scores, allowed)
        expect.close(student.attention_weights(scores, allowed), truth, 0.01)  # float32 rounds there at 1e-3


@pytest.mark.scaling
def test_a_key_changes_its_own_column(student, draw, expect):
    """Score (i, j) belongs to query i and key j alone, at any size."""
    public.test_a_key_changes_its_own_column_of_scores(student, draw, expect)
    public.test_scores_grow_with_the_query(student, draw, expect)
    public.test_permuting_the_keys_permutes_the_columns(student, draw, expect)


@pytest.mark.head_split
def test_splitting_keeps_tokens_apart(student, draw, expect):
    """After the split, token j still holds only numbers of token j."""
    public.test_splitting_keeps_tokens_apart(student, draw, expect)
    module, x = student.multi_head_attention(draw.sizes.d_model, draw.sizes.H), draw.tokens()
    expect.close(module.split_heads(1000 * x) / 1000, module.split_heads(x), IN_FLOAT64)


@pytest.mark.W_O
def test_combining_keeps_tokens_apart(student, draw, expect):
    """W_O mixes the heads of one token, never two tokens."""
    public.test_combining_keeps_tokens_apart(student, draw, expect)
    s, heads = draw.sizes, draw.heads()
    module = student.multi_head_attention(s.d_model, s.H, draw.output_projection())
    expect.close(module.combine_heads(1000 * heads) / 1000, module.combine_heads(heads), IN_FLOAT64)


@pytest.mark.weight(2)
def test_no_output_sees_a_later_token(student, draw, expect):
    """Causality at every position of a longer sequence."""
    public.test_no_output_sees_a_later_token(student, draw, expect)


def test_masks_that_differ_per_sample(student, draw, expect):
    """Each sample has its own mask, and none sees another sample."""
    public.test_attention_ignores_blocked_keys_and_values(student, draw, expect)
    public.test_samples_do_not_see_each_other(student, draw, expect)
    public.test_multi_head_weights_obey_the_mask_of_each_sample(student, draw, expect)


def test_many_keys(student, draw, expect):
    """An average of values stays one, of however many and however large values."""
    length = draw.number(200, 600)
    query, key, mask = draw.normal(5, 7), draw.normal(length, 7), draw.bools(5, length)
    value = torch.ones(length, 3, dtype=torch.float64)
    output, weights = student.scaled_dot_product_attention(query, key, value, mask)
    expect.close(output, value[:5], public.SUM)
    expect.rows_sum_to_one(weights, public.SUM)
    value = draw.normal(length, 3)
    truth, _ = oracle.attention(query, key, value, mask)
    output, _ = student.scaled_dot_product_attention(query, key, 1000 * value, mask)
    expect.close(output / 1000, truth, IN_FLOAT64)


def test_many_tokens(student, draw, expect):
    """A long sequence is treated like a short one."""
    s, length = draw.sizes, draw.number(100, 200)
    projections, x = draw.projections(), draw.normal(1, length, s.d_model)
    mask = oracle.causal_mask(length)
    truth, _ = oracle.multi_head_attention(x, projections, s.H, mask)
    output, _ = student.multi_head_attention(s.d_model, s.H, projections).forward(x, mask)
    expect.close(output, truth, IN_FLOAT64)
