"""Tier 3, equivalence at 1e-6, at secret sizes."""

import pytest
import torch

from grader import test_3_equivalence_1e_6 as public
from grader.judge import oracle


@pytest.mark.scaling
@pytest.mark.weight(2)
def test_scores_at_other_sizes(student, draw, expect):
    """q.k / sqrt(d_k) for every d_k, and for many keys."""
    public.test_scores_equal_the_naive_loop(student, draw, expect)
    public.test_scores_do_not_depend_on_memory_or_history(student, draw, expect)
    for d_k in (1, 2, 4, 17):
        query, key = (
            draw.normal(3, d_k, dtype=torch.float32) / 4,
            draw.normal(6, d_k, dtype=torch.float32) / 4,
        )
        truth = oracle.attention_scores(query.double(), key.double())
        expect.close(student.attention_scores(query, key), truth, public.TOLERANCE)
    query, key = draw.normal(3, 5), draw.normal(draw.number(200, 600), 5)
    truth = oracle.attention_scores(query, key)
    expect.close(student.attention_scores(query, key), truth, public.IN_FLOAT64)


@pytest.mark.mask
@pytest.mark.weight(2)
def test_weights_at_other_sizes(student, draw, expect):
    """The softmax over the allowed keys, for every mask, and for many keys."""
    public.test_weights_equal_the_naive_loop(student, draw, expect)
    public.test_weights_equal_torch_softmax(student, draw, expect)
    public.test_weights_do_not_depend_on_memory_or_history(student, draw, expect)
    length = draw.number(200, 600)
    scores, mask = draw.normal(3, length), draw.bools(3, length)
    truth = oracle.attention_weights(scores, mask)
    expect.close(student.attention_weights(scores, mask), truth, public.IN_FLOAT64)


@pytest.mark.head_split
@pytest.mark.weight(2)
def test_split_heads_at_other_sizes(student, draw, expect):
    """Slices in order, for every number of heads."""
    public.test_split_heads_equals_slices(student, draw, expect)
    s, x = draw.sizes, draw.tokens(torch.float32)
    module = student.multi_head_attention(s.d_model, s.d_head)  # H and d_head exchanged
    expect.close(module.split_heads(x), oracle.split_heads(x, s.d_head), public.TOLERANCE)


@pytest.mark.W_O
@pytest.mark.weight(2)
def test_combine_heads_at_other_sizes(student, draw, expect):
    """Concatenation and one projection, for every number of heads."""
    public.test_combine_heads_equals_concatenation_and_projection(student, draw, expect)


@pytest.mark.weight(2)
def test_attention_at_other_sizes(student, draw, expect):
    """Attention between sequences of other lengths."""
    public.test_attention_equals_the_naive_loop_and_torch(student, draw, expect)


@pytest.mark.weight(2)
def test_multi_head_attention_at_other_sizes(student, draw, expect):
    """Multi-head attention of other widths, with one head too."""
    public.test_multi_head_attention_equals_the_naive_loop_and_torch(student, draw, expect)
    public.test_a_module_remembers_only_its_parameters(student, draw, expect)
    s = draw.sizes
    x, projections, mask = draw.tokens(torch.float32), public.small_projections(draw), draw.token_mask()
    exact_projections = public.doubled(projections)
    for n_heads in (1, s.d_model):
        truth, _ = oracle.multi_head_attention(x.double(), exact_projections, n_heads, mask)
        output, _ = student.multi_head_attention(s.d_model, n_heads, projections).forward(x, mask)
        expect.close(output, truth, public.TOLERANCE)
