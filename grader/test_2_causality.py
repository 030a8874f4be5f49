"""Tier 2, causality: a query sees what its mask allows, and nothing else, at any size of the scores."""

import pytest
import torch

from grader.judge import oracle
from grader.test_3_equivalence_1e_6 import IN_FLOAT64

TINY = 1e-12  # float64 moves by less than 1e-15 where only the order of a sum changes
SUM = 1e-6  # a softmax in float32 is within 1e-7, also where sums are taken in another order
FAR = (3000, -3000)
LARGE_SUM = 1e-2  # float32 itself is no finer than 2e-4 at scores of a few thousand


@pytest.mark.mask
def test_causal_mask_allows_the_past_and_the_present(student, expect):
    """Query i may see key j exactly when j <= i: itself and all before it, no one after it."""
    for length in (1, 2, 5, 8, 70):
        allowed = [[j <= i for j in range(length)] for i in range(length)]
        expect.equal(student.causal_mask(length), torch.tensor(allowed))


@pytest.mark.mask
def test_rows_of_weights_sum_to_one(student, draw, expect):
    """The weights of a query share out one whole among the keys that it may see."""
    scores = draw.scores()
    expect.rows_sum_to_one(student.attention_weights(scores), SUM)
    expect.rows_sum_to_one(student.attention_weights(scores, draw.mask()), SUM)


@pytest.mark.mask
@pytest.mark.weight(2)
def test_blocked_keys_get_weight_zero(student, draw, expect):
    """A blocked key gets weight exactly 0. A score of 0 does not block: exp(0) = 1 is still in the sum."""
    scores, mask = draw.scores(), draw.mask()
    expect.zero(student.attention_weights(scores, mask), where=~mask)


@pytest.mark.mask
@pytest.mark.weight(2)
def test_blocked_keys_do_not_change_the_others(student, draw, expect):
    """The weights of the allowed keys are the same whatever the scores of the blocked ones."""
    scores, mask = draw.scores(), draw.mask()
    other = torch.where(mask, scores, scores + 3)
    expect.close(student.attention_weights(other, mask), student.attention_weights(scores, mask), TINY)


@pytest.mark.mask
def test_masks_of_any_broadcastable_shape(student, draw, expect):
    """A mask may be shared by samples, heads or queries, or differ: it broadcasts to the scores."""
    for shape in ((5, 7), (3, 5, 7), (2, 3, 5, 7), (1, 3, 5, 7), (4, 2, 3, 5, 7)):
        scores = draw.normal(*shape)
        for rank in range(2, len(shape) + 1):
            own = shape[-rank:]
            shared = [(*own[:i], 1, *own[i + 1 :]) for i in range(rank - 1)]  # along one dimension
            for sizes in dict.fromkeys([own, *shared]):
                mask = draw.bools(*sizes)
                expect.zero(student.attention_weights(scores, mask), where=~mask)


@pytest.mark.mask
def test_a_score_of_zero_is_not_blocked(student, draw, expect):
    """Only the mask blocks. A query at right angles to all keys has scores of 0 and attends to all alike."""
    s = draw.sizes
    mask = draw.mask()
    zeros = torch.zeros(s.B, s.H, s.L_q, s.L_k, dtype=torch.float64)
    alike = (mask / mask.sum(-1, keepdim=True)).expand_as(zeros)
    expect.close(student.attention_weights(zeros, mask), alike, SUM)


@pytest.mark.mask
def test_large_scores_give_no_nan(student, draw, expect):
    """exp(1000) overflows. A softmax subtracts the largest score of the row first, and stays finite."""
    mask = draw.mask()
    for dtype in (torch.float32, torch.float64):
        for allowed in (None, mask):
            weights = student.attention_weights(1000 * draw.scores(dtype), allowed)
            expect.rows_sum_to_one(weights, LARGE_SUM)


@pytest.mark.mask
def test_large_scores_keep_their_order(student, draw, expect):
    """Scores of 100 and 130 give other weights than 50 and 50: a clamp is no way to keep exp finite."""
    mask = draw.mask()
    # float32 inside is within the tolerance: it rounds a score of 3000 at 1e-4
    for scores, tolerance in ((30 * draw.scores() + 100, 1e-4), *((draw.scores() + n, 1e-3) for n in FAR)):
        for allowed in (None, mask):
            truth = oracle.attention_weights(scores, allowed)
            expect.close(student.attention_weights(scores, allowed), truth, tolerance)


@pytest.mark.mask
def test_a_blocked_key_stays_blocked_below_large_negative_scores(student, draw, expect):
    """Allowed scores near -5000 are still above a blocked key: its fill must be lower yet, -inf is safest."""
    mask = draw.mask()
    for dtype in (torch.float32, torch.float64):
        scores = torch.where(mask, draw.scores(dtype) - 5000, draw.scores(dtype))
        weights = student.attention_weights(scores, mask)
        expect.zero(weights, where=~mask)
        expect.rows_sum_to_one(weights, LARGE_SUM)


@pytest.mark.scaling
def test_a_key_changes_its_own_column_of_scores(student, draw, expect):
    """Score (i, j) belongs to query i and key j alone: another key j must leave all other columns alone."""
    query, key = draw.query(), draw.key()
    other = key.clone()
    other[..., 2, :] = draw.normal_like(key[..., 2, :])
    moved = student.attention_scores(query, other) - student.attention_scores(query, key)
    expect.close(moved.index_fill(-1, torch.tensor([2]), 0), torch.zeros_like(moved), TINY)


@pytest.mark.scaling
def test_scores_grow_with_the_query(student, draw, expect):
    """A query a thousand times as long has scores a thousand times as large: nothing is cut off or bent."""
    query, key = draw.query(), draw.key()
    grown = student.attention_scores(1000 * query, key) / 1000
    expect.close(grown, student.attention_scores(query, key), IN_FLOAT64)


@pytest.mark.scaling
def test_permuting_the_keys_permutes_the_columns(student, draw, expect):
    """Keys are a set: in another order they give the same scores, in that order."""
    query, key = draw.query(), draw.key()
    order = draw.permutation(draw.sizes.L_k)
    permuted = student.attention_scores(query, key[..., order, :])
    expect.close(permuted, student.attention_scores(query, key)[..., order], SUM)


@pytest.mark.head_split
def test_splitting_keeps_tokens_apart(student, draw, expect):
    """After the split, token j still holds only numbers of token j. A bare reshape mixes tokens up."""
    s = draw.sizes
    module = student.multi_head_attention(s.d_model, s.H)
    x = draw.tokens()
    other = x.clone()
    other[:, -1] = draw.normal_like(x[:, -1])
    moved = module.split_heads(other) - module.split_heads(x)
    expect.shape(moved, s.B, s.H, s.L, s.d_head)
    expect.zero(moved[:, :, :-1], where=torch.tensor(True))


@pytest.mark.W_O
def test_combining_keeps_tokens_apart(student, draw, expect):
    """W_O mixes the heads of one token, never two tokens. Bring the heads back next to their token first."""
    s = draw.sizes
    module = student.multi_head_attention(s.d_model, s.H, draw.output_projection())
    heads = draw.heads()
    other = heads.clone()
    other[:, :, -1] = draw.normal_like(heads[:, :, -1])
    moved = module.combine_heads(other) - module.combine_heads(heads)
    expect.shape(moved, s.B, s.L, s.d_model)
    expect.close(moved[:, :-1], torch.zeros_like(moved[:, :-1]), TINY)


@pytest.mark.weight(2)
def test_no_output_sees_a_later_token(student, draw, expect):
    """With the causal mask, output i is the same whatever the tokens after i are, at every position."""
    s = draw.sizes
    projections, x = draw.projections(), draw.tokens()
    module = student.multi_head_attention(s.d_model, s.H, projections)
    mask = student.causal_mask(s.L)
    output, weights = module.forward(x, mask)
    _, right_weights = oracle.multi_head_attention(x, projections, s.H, oracle.causal_mask(s.L))
    expect.show_weights(weights, right_weights)
    changes = torch.zeros(s.L, s.L, dtype=torch.float64)  # of output i, when token j changes
    for j in range(s.L):
        other = x.clone()
        other[:, j] = draw.normal_like(x[:, j])
        moved, _ = module.forward(other, mask)
        changes[:, j] = (moved - output).abs().amax(dim=(0, 2))
    expect.no_leak(changes, TINY)


def test_attention_ignores_blocked_keys_and_values(student, draw, expect):
    """What a mask blocks has no influence: other keys and values there leave the output as it is."""
    s = draw.sizes
    query, key, value = draw.query(), draw.key(), draw.value()
    mask = draw.bools(s.B, 1, 1, s.L_k)  # one set of keys for each sample, as padding has
    other_key = torch.where(mask.mT, key, draw.normal_like(key))
    other_value = torch.where(mask.mT, value, draw.normal_like(value))
    mask = mask.expand(s.B, 1, s.L_q, s.L_k)
    output, _ = student.scaled_dot_product_attention(query, key, value, mask)
    moved, _ = student.scaled_dot_product_attention(query, other_key, other_value, mask)
    expect.close(moved, output, TINY)


def test_permuting_keys_and_values_together_changes_nothing(student, draw, expect):
    """Attention finds a value by its key, not by its place: move both, and the columns of the mask, alike."""
    query, key, value, mask = draw.query(), draw.key(), draw.value(), draw.mask()
    order = draw.permutation(draw.sizes.L_k)
    output, _ = student.scaled_dot_product_attention(query, key, value, mask)
    moved, _ = student.scaled_dot_product_attention(
        query, key[..., order, :], value[..., order, :], mask[..., order]
    )
    expect.close(moved, output, SUM)


def test_the_average_of_equal_values_is_that_value(student, draw, expect):
    """An output is an average of values: if all of them are 1 it is 1, however many keys there are."""
    for length in (7, 70):
        query, key = draw.normal(2, 5, 10), draw.normal(2, length, 10)
        value = torch.ones(2, length, 6, dtype=torch.float64)
        output, _ = student.scaled_dot_product_attention(query, key, value, draw.bools(2, 5, length))
        expect.close(output, torch.ones_like(output), SUM)


def test_samples_do_not_see_each_other(student, draw, expect):
    """A batch is several sentences side by side: the output of one does not depend on the others."""
    s = draw.sizes
    module = student.multi_head_attention(s.d_model, s.H, draw.projections())
    x, mask = draw.tokens(), draw.token_mask()
    together, _ = module.forward(x, mask)
    for b in range(s.B):
        alone, _ = module.forward(x[b : b + 1], mask[b : b + 1])
        expect.close(alone, together[b : b + 1], SUM)


def test_multi_head_weights_obey_the_mask_of_each_sample(student, draw, expect):
    """The mask reaches every head: blocked weights are exactly 0, and each row sums to 1."""
    s = draw.sizes
    module = student.multi_head_attention(s.d_model, s.H, draw.projections())
    mask = draw.token_mask()
    _, weights = module.forward(draw.tokens(), mask)
    expect.shape(weights, s.B, s.H, s.L, s.L)
    expect.zero(weights, where=~mask)
    expect.rows_sum_to_one(weights, SUM)
