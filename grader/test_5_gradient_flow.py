"""Tier 5, gradient flow: training works only if the right gradient reaches every input and parameter.

Each check sends a random upstream gradient back, since the gradient of a plain sum hides mistakes: the
weights of a row sum to 1, so its softmax gets none.
"""

import pytest
import torch

from grader.judge import oracle
from grader.judge.exercise import FUNCTIONS

TOLERANCE = 1e-5  # float64; a softmax in float32 inside is within 1e-6
TINY = 1e-12  # what rounding leaves of a gradient that cancels, and far above it
LARGE = 1000


def true_gradients(function, inputs, upstream):
    """The gradients of the oracle's function with respect to its float inputs."""
    inputs = [tensor.clone().requires_grad_() for tensor in inputs]
    result = function(*inputs)
    output = result[0] if isinstance(result, tuple) else result
    return torch.autograd.grad((output * upstream).sum(), inputs)


def named(names, gradients):
    """Gradients by the names of what they belong to; an argument that is no float tensor has none."""
    return dict(zip(names.split(), gradients, strict=False))


@pytest.mark.scaling
def test_gradient_of_scores(student, draw, expect):
    """Queries and keys learn through the scores, with the same factor 1 / sqrt(d_k) on the way back."""
    query, key, upstream = draw.query(), draw.key(), draw.scores()
    truth = true_gradients(oracle.attention_scores, (query, key), upstream)
    gradients = student.call("attention_scores", query, key, upstream=upstream).gradients
    expect.gradients_close(named("query key", gradients), named("query key", truth), TOLERANCE)


@pytest.mark.scaling
def test_scores_leave_their_arguments_alone(student, draw, expect):
    """The caller still needs its query and key: work on new tensors, not in place."""
    call = (draw.query(), draw.key())
    after = student.call("attention_scores", *call).args_after
    expect.unchanged(FUNCTIONS["attention_scores"][0], call, after)


@pytest.mark.mask
@pytest.mark.weight(2)
def test_gradient_of_weights(student, draw, expect):
    """Each score moves every weight of its row, through the sum below the fraction too."""
    scores, mask, upstream = draw.scores(), draw.mask(), draw.scores()
    for allowed in (None, mask):
        truth = true_gradients(lambda s, m=allowed: oracle.attention_weights(s, m), (scores,), upstream)
        gradients = student.call("attention_weights", scores, allowed, upstream=upstream).gradients
        expect.gradients_close(named("scores", gradients), named("scores", truth), TOLERANCE)


@pytest.mark.mask
def test_blocked_scores_get_no_gradient(student, draw, expect):
    """A blocked score has no influence, so its gradient is 0; and no NaN, however large the scores are."""
    mask = draw.mask()
    for size in (1, LARGE):
        call = student.call("attention_weights", size * draw.scores(), mask, upstream=draw.scores())
        expect.that(call.gradients[0] is not None, "no_gradient", name="scores")
        expect.at_most(TINY, call.gradients[0], where=~mask)


@pytest.mark.mask
def test_weights_leave_their_arguments_alone(student, draw, expect):
    """Scores and mask belong to the caller: masked_fill makes a new tensor, masked_fill_ changes theirs."""
    call = (draw.scores(), draw.mask())
    after = student.call("attention_weights", *call).args_after
    expect.unchanged(FUNCTIONS["attention_weights"][0], call, after)


@pytest.mark.head_split
def test_gradient_of_split_heads(student, draw, expect):
    """A split moves numbers, and moves their gradients back the same way."""
    s = draw.sizes
    module = student.multi_head_attention(s.d_model, s.H)
    x, upstream = draw.tokens(), draw.heads()
    truth = true_gradients(lambda x: oracle.split_heads(x, s.H), (x,), upstream)
    gradients = module.call("split_heads", x, upstream=upstream).gradients
    expect.gradients_close(named("x", gradients), named("x", truth), TOLERANCE)


@pytest.mark.head_split
def test_splitting_leaves_its_argument_alone(student, draw, expect):
    """The projected tokens belong to the caller: a split makes a view or a copy, and changes nothing."""
    s = draw.sizes
    module, x = student.multi_head_attention(s.d_model, s.H), draw.tokens()
    expect.unchanged(("x",), (x,), module.call("split_heads", x).args_after)


@pytest.mark.W_O
def test_combining_leaves_its_argument_alone(student, draw, expect):
    """The outputs of the heads belong to the caller: bring them together in a new tensor."""
    s = draw.sizes
    module, heads = student.multi_head_attention(s.d_model, s.H, draw.output_projection()), draw.heads()
    expect.unchanged(("heads",), (heads,), module.call("combine_heads", heads).args_after)


@pytest.mark.W_O
def test_gradient_of_combine_heads(student, draw, expect):
    """Gradients pass through W_O to the heads, and W_O gets its own."""
    s = draw.sizes
    projections = draw.output_projection()
    module = student.multi_head_attention(s.d_model, s.H, projections)
    heads, upstream = draw.heads(), draw.tokens()
    truth = true_gradients(oracle.combine_heads, (heads, projections["W_O"]), upstream)
    answer = module.call("combine_heads", heads, upstream=upstream)
    gradients = (answer.gradients[0], answer.parameter_gradients["W_O"])
    names = "heads W_O.weight"
    expect.gradients_close(named(names, gradients), named(names, truth), TOLERANCE)


@pytest.mark.weight(2)
def test_gradients_of_attention(student, draw, expect):
    """Query, key and value all learn from the output."""
    inputs, mask = (draw.query(), draw.key(), draw.value()), draw.mask()
    s = draw.sizes
    upstream = draw.normal(s.B, s.H, s.L_q, s.d_v)
    truth = true_gradients(lambda q, k, v: oracle.attention(q, k, v, mask), inputs, upstream)
    answer = student.call("scaled_dot_product_attention", *inputs, mask, upstream=upstream)
    names = "query key value"
    expect.gradients_close(named(names, answer.gradients), named(names, truth), TOLERANCE)


@pytest.mark.weight(2)
def test_every_parameter_and_the_tokens_get_their_gradient(student, draw, expect):
    """W_Q, W_K, W_V, W_O and the tokens all receive a gradient, and the right one."""
    s = draw.sizes
    x, mask, projections, upstream = draw.tokens(), draw.token_mask(), draw.projections(), draw.tokens()
    module = student.multi_head_attention(s.d_model, s.H, projections)

    def attention_of(*inputs):
        *weights, x = inputs
        return oracle.multi_head_attention(x, dict(zip(projections, weights, strict=True)), s.H, mask)

    truth = true_gradients(attention_of, (*projections.values(), x), upstream)
    answer = module.call("forward", x, mask, upstream=upstream)
    gradients = (*(answer.parameter_gradients[name] for name in projections), answer.gradients[0])
    names = "W_Q.weight W_K.weight W_V.weight W_O.weight x"
    expect.gradients_close(named(names, gradients), named(names, truth), TOLERANCE)


def test_no_gradient_reaches_a_later_token(student, draw, expect):
    """With the causal mask, output i must not learn from tokens after i: their gradient is 0."""
    s = draw.sizes
    x, mask = draw.tokens(), student.causal_mask(s.L)
    module = student.multi_head_attention(s.d_model, s.H, draw.projections())
    for i in range(s.L):
        upstream = torch.zeros_like(x)
        upstream[:, i] = draw.normal_like(x[:, i])
        gradient = module.call("forward", x, mask, upstream=upstream).gradients[0]
        expect.that(gradient is not None, "no_gradient", name="x")
        expect.at_most(TINY, gradient[:, i + 1 :], where=torch.tensor(True))
        expect.that(bool(gradient[:, i].any()), "no_gradient", name=f"x[:, {i}]")


def test_whole_functions_leave_their_arguments_alone(student, draw, expect):
    """What goes into attention comes out of it unchanged, mask included."""
    s = draw.sizes
    inputs = (draw.query(), draw.key(), draw.value(), draw.mask())
    after = student.call("scaled_dot_product_attention", *inputs).args_after
    expect.unchanged(FUNCTIONS["scaled_dot_product_attention"][0], inputs, after)
    tokens = (draw.tokens(), draw.token_mask())
    module = student.multi_head_attention(s.d_model, s.H, draw.projections())
    expect.unchanged(FUNCTIONS["forward"][0], tokens, module.call("forward", *tokens).args_after)


def test_large_scores_leave_no_nan_in_the_gradients(student, draw, expect):
    """A saturated softmax has gradients near 0, not NaN: training survives a few large scores."""
    s = draw.sizes
    inputs = (LARGE * draw.query(), draw.key(), draw.value(), draw.mask())
    upstream = draw.normal(s.B, s.H, s.L_q, s.d_v)
    gradients = student.call("scaled_dot_product_attention", *inputs, upstream=upstream).gradients
    for name, gradient in zip(("query", "key", "value"), gradients, strict=False):
        expect.that(gradient is not None, "no_gradient", name=name)
        expect.finite(gradient)
