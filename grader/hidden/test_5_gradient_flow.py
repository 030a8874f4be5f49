"""Tier 5, gradient flow, at secret sizes."""

import pytest

from grader import test_5_gradient_flow as public


@pytest.mark.scaling
def test_gradient_of_scores_at_other_sizes(student, draw, expect):
    """Values of the gradient, arguments untouched."""
    public.test_gradient_of_scores(student, draw, expect)
    public.test_scores_leave_their_arguments_alone(student, draw, expect)


@pytest.mark.mask
@pytest.mark.weight(2)
def test_gradient_of_weights_at_other_sizes(student, draw, expect):
    """Values of the gradient, none for blocked scores, arguments untouched."""
    public.test_gradient_of_weights(student, draw, expect)
    public.test_blocked_scores_get_no_gradient(student, draw, expect)
    public.test_weights_leave_their_arguments_alone(student, draw, expect)


@pytest.mark.head_split
def test_gradient_of_split_heads_at_other_sizes(student, draw, expect):
    """Values of the gradient, arguments untouched."""
    public.test_gradient_of_split_heads(student, draw, expect)
    public.test_splitting_leaves_its_argument_alone(student, draw, expect)


@pytest.mark.W_O
def test_gradient_of_combine_heads_at_other_sizes(student, draw, expect):
    """Values of the gradient, arguments untouched."""
    public.test_gradient_of_combine_heads(student, draw, expect)
    public.test_combining_leaves_its_argument_alone(student, draw, expect)


@pytest.mark.weight(2)
def test_gradients_of_whole_functions_at_other_sizes(student, draw, expect):
    """Values of the gradient of every input and parameter."""
    public.test_gradients_of_attention(student, draw, expect)
    public.test_every_parameter_and_the_tokens_get_their_gradient(student, draw, expect)


def test_no_gradient_reaches_a_later_token(student, draw, expect):
    """Causality on the way back, at every position."""
    public.test_no_gradient_reaches_a_later_token(student, draw, expect)


def test_whole_functions_at_large_scores(student, draw, expect):
    """No NaN, and arguments untouched."""
    public.test_whole_functions_leave_their_arguments_alone(student, draw, expect)
    public.test_large_scores_leave_no_nan_in_the_gradients(student, draw, expect)
