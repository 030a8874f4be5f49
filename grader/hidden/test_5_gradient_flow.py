"""Tier 5, gradient flow, at secret sizes."""

import pytest

from grader import test_5_gradient_flow as public

LARGE = 1000


def expect_growth(expect, gradients_of, upstream, names):
    """An upstream gradient a thousand times as large gives gradients a thousand times as large."""
    once, grown = gradients_of(upstream), gradients_of(LARGE * upstream)
    for name, gradient in public.named(names, once).items():
        expect.that(gradient is not None, "no_gradient", name=name)
    shrunk = [None if gradient is None else gradient / LARGE for gradient in grown]
    expect.gradients_close(public.named(names, shrunk), public.named(names, once), public.TOLERANCE)


@pytest.mark.scaling
def test_gradient_of_scores_at_other_sizes(student, draw, expect):
    """Values of the gradient at any size, arguments untouched."""
    public.test_gradient_of_scores(student, draw, expect)
    public.test_scores_leave_their_arguments_alone(student, draw, expect)
    query, key = draw.query(), draw.key()

    def gradients_of(upstream):
        return student.call("attention_scores", query, key, upstream=upstream).gradients

    expect_growth(expect, gradients_of, draw.scores(), "query key")


@pytest.mark.mask
@pytest.mark.weight(2)
def test_gradient_of_weights_at_other_sizes(student, draw, expect):
    """Values of the gradient at any size, none for blocked scores, arguments untouched."""
    public.test_gradient_of_weights(student, draw, expect)
    public.test_blocked_scores_get_no_gradient(student, draw, expect)
    public.test_weights_leave_their_arguments_alone(student, draw, expect)
    scores, mask = draw.scores(), draw.mask()

    def gradients_of(upstream):
        return student.call("attention_weights", scores, mask, upstream=upstream).gradients

    expect_growth(expect, gradients_of, draw.scores(), "scores")


@pytest.mark.head_split
def test_gradient_of_split_heads_at_other_sizes(student, draw, expect):
    """Values of the gradient at any size, arguments untouched."""
    public.test_gradient_of_split_heads(student, draw, expect)
    public.test_splitting_leaves_its_argument_alone(student, draw, expect)
    module, x = student.multi_head_attention(draw.sizes.d_model, draw.sizes.H), draw.tokens()

    def gradients_of(upstream):
        return module.call("split_heads", x, upstream=upstream).gradients

    expect_growth(expect, gradients_of, draw.heads(), "x")


@pytest.mark.W_O
def test_gradient_of_combine_heads_at_other_sizes(student, draw, expect):
    """Values of the gradient at any size, arguments untouched."""
    public.test_gradient_of_combine_heads(student, draw, expect)
    public.test_combining_leaves_its_argument_alone(student, draw, expect)
    heads, weight = draw.heads(), draw.output_projection()
    module = student.multi_head_attention(draw.sizes.d_model, draw.sizes.H, weight)

    def gradients_of(upstream):
        answer = module.call("combine_heads", heads, upstream=upstream)
        return answer.gradients[0], answer.parameter_gradients["W_O"]

    expect_growth(expect, gradients_of, draw.tokens(), "heads W_O.weight")


@pytest.mark.weight(2)
def test_gradients_of_whole_functions_at_other_sizes(student, draw, expect):
    """Values of the gradient of every input and parameter, at any size."""
    public.test_gradients_of_attention(student, draw, expect)
    public.test_every_parameter_and_the_tokens_get_their_gradient(student, draw, expect)
    inputs, s = (draw.query(), draw.key(), draw.value(), draw.mask()), draw.sizes

    def gradients_of(upstream):
        return student.call("scaled_dot_product_attention", *inputs, upstream=upstream).gradients

    expect_growth(expect, gradients_of, draw.normal(s.B, s.H, s.L_q, s.d_v), "query key value")


def test_no_gradient_reaches_a_later_token(student, draw, expect):
    """Causality on the way back, at every position."""
    public.test_no_gradient_reaches_a_later_token(student, draw, expect)


def test_whole_functions_at_large_scores(student, draw, expect):
    """No NaN, and arguments untouched."""
    public.test_whole_functions_leave_their_arguments_alone(student, draw, expect)
    public.test_large_scores_leave_no_nan_in_the_gradients(student, draw, expect)
