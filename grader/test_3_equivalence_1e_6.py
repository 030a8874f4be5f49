"""Tier 3, equivalence at 1e-6: in float32, the same numbers as a naive loop, and as PyTorch's own attention.

An error of float32 grows with the numbers, so queries, keys, values and W_O are scaled down by a power of
two, which rounds nothing: every right way of writing it stays well below 1e-6 there, and no wrong one does.
"""

import itertools

import pytest
import torch
import torch.nn.functional as F

from grader.judge import oracle
from grader.judge.draw import other_layout

TOLERANCE = 1e-6
IN_FLOAT64 = 1e-5  # float32 inside is within it: that is for tier 4 to say
LEADING = [(), (3,), (2, 3), (4, 2, 3), (1,), (1, 2)]
LENGTHS = [(6, 6), (5, 7), (1, 7), (5, 1)]  # L_q, L_k


def test_written_from_scratch(student, draw):
    """This exercise is attention written by hand: torch's own attention may check it, not replace it."""
    s = draw.sizes
    student.scaled_dot_product_attention(draw.query(), draw.key(), draw.value(), draw.mask())
    student.multi_head_attention(s.d_model, s.H, draw.projections()).forward(draw.tokens())


@pytest.mark.scaling
@pytest.mark.weight(2)
def test_scores_equal_the_naive_loop(student, draw, expect):
    """Each score is q.k / sqrt(d_k), with d_k the size of these queries: it differs from call to call."""
    query, key = draw.query(torch.float32) / 4, draw.key(torch.float32) / 4
    expect.close(
        student.attention_scores(query, key), oracle.attention_scores(query.double(), key.double()), TOLERANCE
    )
    query, key = draw.normal(5, 3, dtype=torch.float32) / 4, draw.normal(7, 3, dtype=torch.float32) / 4
    expect.close(
        student.attention_scores(query, key), oracle.attention_scores(query.double(), key.double()), TOLERANCE
    )


@pytest.mark.scaling
def test_scores_at_any_rank_and_size(student, draw, expect):
    """The formula is the same for one query or many, with any leading dimensions, and for every d_k."""
    for leading in LEADING:
        for (l_q, l_k), d_k in zip(LENGTHS, (12, 10, 3, 8), strict=True):
            query = draw.normal(*leading, l_q, d_k, dtype=torch.float32) / 4
            key = draw.normal(*leading, l_k, d_k, dtype=torch.float32) / 4
            truth = oracle.attention_scores(query.double(), key.double())
            expect.close(student.attention_scores(query, key), truth, TOLERANCE)


@pytest.mark.scaling
def test_scores_do_not_depend_on_memory_or_history(student, draw, expect):
    """The same numbers give the same scores, however they lie in memory, and as often as one asks."""
    query, key = draw.query(torch.float32) / 4, draw.key(torch.float32) / 4
    same_key = key[..., :1, :].expand_as(key)  # one key, seen L_k times: stride 0
    calls = [(query, key), (query, key), (other_layout(query), other_layout(key)), (query, same_key)]
    answers = [student.attention_scores(*call) for call in calls]
    for (query, key), answer in zip(calls, answers, strict=True):
        expect.close(answer, oracle.attention_scores(query.double(), key.double()), TOLERANCE)


@pytest.mark.mask
@pytest.mark.weight(2)
def test_weights_equal_the_naive_loop(student, draw, expect):
    """Each weight is exp(score) over the sum of the exps of the keys that the query may see."""
    scores, mask = draw.scores(torch.float32), draw.mask()
    for allowed in (None, mask):
        truth = oracle.attention_weights(scores.double(), allowed)
        expect.close(student.attention_weights(scores, allowed), truth, TOLERANCE)


@pytest.mark.mask
def test_weights_at_any_rank_and_size(student, draw, expect):
    """Softmax and mask are the same for one query or many, at any rank, and for small weights too."""
    for leading, l_q, l_k, mask in ranks_and_sizes(draw):
        scores = draw.normal(*leading, l_q, l_k, dtype=torch.float32)
        truth = oracle.attention_weights(scores.double(), mask)
        expect.close(student.attention_weights(scores, mask), truth, TOLERANCE)
    scores, mask = 3 * draw.scores(), draw.mask()
    truth = oracle.attention_weights(scores, mask)  # some weights are near 0
    expect.close(student.attention_weights(scores, mask), truth, IN_FLOAT64)


@pytest.mark.mask
def test_weights_equal_torch_softmax(student, draw, expect):
    """PyTorch's softmax over the allowed keys alone gives the same weights."""
    s = draw.sizes
    scores, allowed = draw.scores(torch.float32), draw.bools(1, s.L_k)
    kept = torch.softmax(scores[..., allowed[0]], dim=-1)
    weights = student.attention_weights(scores, allowed.expand(s.L_q, s.L_k))
    expect.shape(weights, *scores.shape)
    expect.close(weights[..., allowed[0]], kept, TOLERANCE)


@pytest.mark.mask
def test_weights_do_not_depend_on_memory_or_history(student, draw, expect):
    """The same numbers give the same weights, however they lie in memory, and as often as one asks."""
    scores, mask = draw.scores(torch.float32), draw.mask()
    same_row = scores[..., :1, :].expand_as(scores)  # one row, seen L_q times: stride 0
    calls = [(scores, mask), (scores, mask), (other_layout(scores), other_layout(mask)), (same_row, mask)]
    answers = [student.attention_weights(*call) for call in calls]
    for (scores, mask), answer in zip(calls, answers, strict=True):
        expect.close(answer, oracle.attention_weights(scores.double(), mask), TOLERANCE)


@pytest.mark.head_split
@pytest.mark.weight(2)
def test_split_heads_equals_slices(student, draw, expect):
    """Head h holds features h * d_head to (h + 1) * d_head of every token, in order."""
    s = draw.sizes
    for n_heads in (s.H, 1, s.d_model):
        module = student.multi_head_attention(s.d_model, n_heads)
        for batch, length in ((s.B, s.L), (5, 7), (s.H, s.H), (1, s.L), (s.B, 1)):
            x = draw.normal(batch, length, s.d_model, dtype=torch.float32)
            truth = oracle.split_heads(x, n_heads)
            expect.close(module.split_heads(x), truth, TOLERANCE)
            if n_heads == s.H:  # not contiguous in memory
                expect.close(module.split_heads(other_layout(x)), truth, TOLERANCE)


@pytest.mark.W_O
@pytest.mark.weight(2)
def test_combine_heads_equals_concatenation_and_projection(student, draw, expect):
    """The heads side by side, head 0 first, then multiplied by W_O once, and nothing more."""
    s = draw.sizes
    projections = draw.output_projection(torch.float32)
    projections["W_O"] /= 16
    for n_heads in (s.H, 1, s.d_model):
        module = student.multi_head_attention(s.d_model, n_heads, projections)
        for batch, length in ((s.B, s.L), (5, 7), (s.H, s.H), (1, s.L), (s.B, 1)):
            heads = draw.normal(batch, n_heads, length, s.d_model // n_heads, dtype=torch.float32)
            truth = oracle.combine_heads(heads.double(), projections["W_O"].double())
            expect.close(module.combine_heads(heads), truth, TOLERANCE)
            if n_heads == s.H:  # not contiguous in memory
                expect.close(module.combine_heads(other_layout(heads)), truth, TOLERANCE)


@pytest.mark.weight(2)
def test_attention_equals_the_naive_loop_and_torch(student, draw, expect):
    """Output and weights agree with a loop over queries and keys and with F.scaled_dot_product_attention."""
    query, key, value = draw.query(torch.float32), draw.key(torch.float32), draw.value(torch.float32) / 8
    for mask in (None, draw.mask()):
        truth, true_weights = oracle.attention(query.double(), key.double(), value.double(), mask)
        torch_output = F.scaled_dot_product_attention(query, key, value, mask)
        output, weights = student.scaled_dot_product_attention(query, key, value, mask)
        expect.show_weights(weights, true_weights)
        expect.close(output, truth, TOLERANCE, torch_output)
        expect.close(output, torch_output, TOLERANCE)
        expect.close(weights, true_weights, TOLERANCE)


def test_attention_at_any_rank_and_size(student, draw, expect):
    """Attention is the same for one query or many, for one key or many, with any leading dimensions."""
    for leading, l_q, l_k, mask in ranks_and_sizes(draw):
        query, key = (draw.normal(*leading, n, 10, dtype=torch.float32) for n in (l_q, l_k))
        value = draw.normal(*leading, l_k, 6, dtype=torch.float32) / 8
        truth, _ = oracle.attention(query.double(), key.double(), value.double(), mask)
        output, _ = student.scaled_dot_product_attention(query, key, value, mask)
        expect.close(output, truth, TOLERANCE)


@pytest.mark.weight(2)
def test_multi_head_attention_equals_the_naive_loop_and_torch(student, draw, expect):
    """Each head is an attention of its own on its slice of the projections; W_O mixes what they found."""
    s = draw.sizes
    x, projections = draw.tokens(torch.float32), small_projections(draw)
    module = student.multi_head_attention(s.d_model, s.H, projections)
    exact_projections = doubled(projections)
    for mask in (None, draw.token_mask(), oracle.causal_mask(s.L)):
        truth, true_weights = oracle.multi_head_attention(x.double(), exact_projections, s.H, mask)
        torch_output = torch_multi_head_attention(x, projections, s.H, mask)
        output, weights = module.forward(x, mask)
        expect.close(output, truth, TOLERANCE, torch_output)
        expect.close(output, torch_output, TOLERANCE)
        expect.close(weights, true_weights, TOLERANCE)


def test_a_module_remembers_only_its_parameters(student, draw, expect):
    """What a module gives depends on tokens, mask and weights: not on its last call, nor on other modules."""
    s = draw.sizes
    modules = []
    for n_heads, reloaded in ((s.H, False), (s.d_head, True)):  # the second has H and d_head exchanged
        module = student.multi_head_attention(s.d_model, n_heads, small_projections(draw), reloaded)
        modules.append((module, n_heads))
    sizes = ((s.B, s.L), (s.B, s.L), (s.B, s.L), (s.B, 7), (s.H, s.H), (1, 7), (s.B, 1))
    masked = (True, True, False, True, False, True, False)
    for (batch, length), has_mask in zip(sizes, masked, strict=True):
        mask = draw.bools(batch, 1, length, length) if has_mask else None
        for module, n_heads in modules:
            projections = small_projections(draw)  # as after a step of training
            exact_projections = doubled(projections)
            x = draw.normal(batch, length, s.d_model, dtype=torch.float32)
            x[:, -1] = 0  # a token of zeros is a token like any other
            truth, _ = oracle.multi_head_attention(x.double(), exact_projections, n_heads, mask)
            expect.close(module.with_weights(projections).forward(x, mask)[0], truth, TOLERANCE)


def ranks_and_sizes(draw):
    """Yields leading dimensions, L_q, L_k and a mask: all pairs of them, with each kind of mask in turn."""
    kinds = itertools.cycle(("none", "shared", "everything"))
    for leading, (l_q, l_k) in itertools.product(LEADING, LENGTHS):
        masks = {"none": (), "shared": (l_q, l_k), "everything": (*leading, l_q, l_k)}
        sizes = masks[next(kinds)]
        yield leading, l_q, l_k, draw.bools(*sizes) if sizes else None


def small_projections(draw):
    """float32 projections whose outputs are small enough for an error below 1e-6."""
    projections = draw.projections(torch.float32)
    return projections | {"W_O": projections["W_O"] / 16}


def doubled(projections):
    """The same projections in float64."""
    return {name: weight.double() for name, weight in projections.items()}


def torch_multi_head_attention(x, projections, n_heads, mask):
    """Multi-head attention around F.scaled_dot_product_attention: (B, L, d_model) -> (B, L, d_model)."""
    w_q, w_k, w_v, w_o = projections.values()
    query, key, value = (oracle.split_heads(x @ weight.T, n_heads) for weight in (w_q, w_k, w_v))
    return oracle.combine_heads(F.scaled_dot_product_attention(query, key, value, mask), w_o)
