"""Tier 1, shape, at secret sizes."""

import pytest
import torch

from grader import test_1_shape as public
from grader.judge.call import StudentError

NO_NUMBERS = ("meta tensor", "Meta tensor", "register_meta")  # in torch's words


@pytest.mark.mask
def test_causal_mask_of_any_length(student, draw, expect):
    """No length is too long, as long as memory lasts. A mask set item by item takes seconds at 600."""
    for length in (draw.number(17, 60), draw.number(513, 540)):
        mask = student.causal_mask(length)
        expect.shape(mask, length, length)
        expect.dtype(mask, torch.bool)


@pytest.mark.mask
def test_causal_mask_is_made_on_the_device(student, expect):
    """The mask must be where the scores are. "meta" is a device without memory, which every machine has.

    Hidden for its price alone: torch loads its compiler for it, a second that no student should wait.
    """
    try:
        mask = student.causal_mask(4, torch.device("meta"))
    except StudentError as error:
        if any(words in str(error.seen.values.get("says")) for words in NO_NUMBERS):
            return  # it looks at its own numbers, which every other device has
        raise
    expect.that(mask.device.type == "meta", "device", actual=mask.device.type, expected="meta")


@pytest.mark.mask
def test_weights_at_other_sizes(student, draw, expect):
    """Any number of queries and keys, with any leading dimensions."""
    leading = draw.leading()
    scores = draw.normal(*leading, draw.sizes.L_q, draw.sizes.L_k)
    mask = draw.bools(draw.sizes.L_q, draw.sizes.L_k)
    expect.shape(student.attention_weights(scores, mask), *scores.shape)


@pytest.mark.scaling
def test_scores_at_other_sizes(student, draw, expect):
    """Any number of queries and keys, with any leading dimensions."""
    leading, s = draw.leading(), draw.sizes
    query, key = draw.normal(*leading, s.L_q, s.d_k), draw.normal(*leading, s.L_k, s.d_k)
    expect.shape(student.attention_scores(query, key), *leading, s.L_q, s.L_k)


@pytest.mark.head_split
def test_split_heads_at_other_sizes(student, draw, expect):
    """Any number of heads, one too, and heads of a single feature."""
    public.test_split_heads_makes_a_dimension_of_heads(student, draw, expect)
    for n_heads in (1, draw.sizes.d_model):
        heads = student.multi_head_attention(draw.sizes.d_model, n_heads).split_heads(draw.tokens())
        expect.shape(heads, draw.sizes.B, n_heads, draw.sizes.L, draw.sizes.d_model // n_heads)


@pytest.mark.W_O
def test_combine_heads_at_other_sizes(student, draw, expect):
    """Any number of heads, one too."""
    public.test_combine_heads_gives_back_tokens(student, draw, expect)
    s = draw.sizes
    module = student.multi_head_attention(s.d_model, 1, draw.output_projection())
    expect.shape(module.combine_heads(draw.normal(s.B, 1, s.L, s.d_model)), s.B, s.L, s.d_model)


def test_multi_head_attention_at_other_sizes(student, draw, expect):
    """Tokens go in and tokens come out."""
    public.test_multi_head_attention_keeps_the_shape_of_the_tokens(student, draw, expect)


def test_parameters_at_other_sizes(student, draw, expect):
    """Four square matrices, whatever the sizes, and no module with heads of no whole size."""
    public.test_parameters_are_four_square_matrices(student, draw, expect)
    public.test_heads_must_divide_the_model(student, draw, expect)
