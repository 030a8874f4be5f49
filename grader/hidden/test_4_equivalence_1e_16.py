"""Tier 4, equivalence at 1e-16, at secret sizes."""

import pytest

from grader import test_4_equivalence_1e_16 as public


@pytest.mark.scaling
def test_scores_at_other_sizes(student, draw, expect):
    """float64 throughout."""
    public.test_scores_in_float64(student, draw, expect)


@pytest.mark.mask
def test_weights_at_other_sizes(student, draw, expect):
    """float64 throughout."""
    public.test_weights_in_float64(student, draw, expect)


@pytest.mark.head_split
def test_split_heads_at_other_sizes(student, draw, expect):
    """To the last bit."""
    public.test_splitting_heads_rounds_nothing(student, draw, expect)


@pytest.mark.W_O
def test_combine_heads_at_other_sizes(student, draw, expect):
    """float64 throughout."""
    public.test_combining_heads_in_float64(student, draw, expect)


@pytest.mark.weight(2)
def test_attention_at_other_sizes(student, draw, expect):
    """float64 throughout."""
    public.test_attention_in_float64(student, draw, expect)


@pytest.mark.weight(2)
def test_multi_head_attention_at_other_sizes(student, draw, expect):
    """float64 throughout."""
    public.test_multi_head_attention_in_float64(student, draw, expect)
