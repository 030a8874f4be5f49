"""The lesson's measurements are right: against theory, against torch, or by hand."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from student import figures
from student.attention import MultiHeadAttention
from student.measures import formula, heads, masking, routes, scaling, sentences


def test_both_languages_have_the_same_kinds_of_word():
    for tokens in figures.SENTENCES.values():
        assert [len(sentence) for sentence in tokens] == [7, 7, 5]
    assert [len(kinds) for kinds in sentences.KINDS_OF_WORDS] == [7, 7, 5]


# The RNN


@pytest.mark.parametrize("gain", [1.0, routes.EXPLODING])
def test_gradients_of_the_rnn_are_those_of_autograd(gain):
    length, measured = 12, figures.rnn_gradients(12, gain)
    torch.manual_seed(0)
    layer = torch.nn.RNN(routes.STATE, routes.STATE, dtype=torch.float64)
    with torch.no_grad():
        layer.weight_hh_l0.mul_(gain)
    tokens = torch.from_numpy(np.random.default_rng(0).standard_normal((length, routes.STATE)))
    first = layer(tokens[:1])[1]
    for t in (2, 5, 12):
        jacobian = torch.autograd.functional.jacobian(lambda h, t=t: layer(tokens[1:t], h)[1], first)
        norm = torch.linalg.matrix_norm(jacobian.reshape(routes.STATE, routes.STATE), 2)
        assert measured[t - 1] == pytest.approx(float(norm), rel=1e-9)


def test_the_gradient_vanishes_or_explodes():
    assert figures.rnn_gradients(50)[0] == 1
    assert figures.rnn_gradients(50)[-1] < 1e-12
    assert figures.rnn_gradients(50, routes.EXPLODING)[-1] > 1e3


def test_the_first_token_is_diluted():
    shares = figures.rnn_shares(50)
    assert shares[0] == 1
    assert (np.diff(shares) < 0).all()
    assert shares[6] < 0.01
    assert routes.run_rnn(7).shares.sum(axis=1) == pytest.approx(np.ones(7))


# Welded and computed lines


def test_welded_lines_stay_and_computed_lines_move():
    assert figures.lines_changed(figures.welded_lines(0), figures.welded_lines(1)) == 0
    assert figures.lines_changed(figures.attention_lines(0), figures.attention_lines(1)) > 0.5
    assert (figures.welded_lines(0) == figures.attention_lines(0)).all()


def test_welded_lines_break_at_another_length():
    with pytest.raises(RuntimeError, match=r"shapes cannot be multiplied \(5x5 and 7x7\)"):
        figures.welded_lines(2)
    assert figures.attention_lines(2).shape == (5, 5)


@pytest.mark.parametrize("sentence", range(3))
def test_the_pronoun_finds_the_animal(sentence):
    row = figures.attention_lines(sentence)[sentences.position("pronoun", sentence)]
    assert row.argmax() == sentences.position("animal", sentence)
    assert row.max() > 0.7


# The formula


@pytest.mark.parametrize("causal", [False, True])
def test_the_formula_is_torchs(causal):
    random = np.random.default_rng(1)
    query, key, value = (random.standard_normal((3, 7, 5)) for _ in "qkv")
    tensors = (torch.from_numpy(array) for array in (query, key, value))
    official = F.scaled_dot_product_attention(*tensors, is_causal=causal).numpy()
    assert formula.attend(query, key, value, causal).output == pytest.approx(official, abs=1e-14)


def test_four_steps_by_hand():
    steps = figures.four_steps()
    assert steps.scores.tolist() == [[2, 0, 1], [0, 2, 2], [2, 1, 2]]
    assert steps.scaled[0] == pytest.approx([2**0.5, 0, 0.5**0.5])
    assert steps.weights[0].round(2).tolist() == [0.58, 0.14, 0.28]
    assert steps.output[0].round(2).tolist() == [1.14, 0.71]


@pytest.mark.parametrize("d_k", figures.D_KS)
def test_the_variance_of_a_dot_product_is_d_k(d_k):
    deviation = (
        (2 + 6 / d_k) / scaling.PAIRS
    ) ** 0.5  # of a measured variance; the excess kurtosis is 6 / d_k
    assert figures.dot_product_variance(d_k) / d_k == pytest.approx(1, abs=4 * deviation)


def test_without_scaling_softmax_saturates():
    small, large = (figures.saturation(d_k, scaled=False) for d_k in (2, 512))
    assert large.largest > 0.9 > 0.5 > small.largest
    assert large.gradient < small.gradient / 100
    scaled = [figures.saturation(d_k, scaled=True) for d_k in figures.D_KS]
    assert np.ptp([point.largest for point in scaled]) < 0.05
    assert np.ptp([point.gradient for point in scaled]) < 0.05


def test_the_gradient_through_softmax_is_that_of_autograd():
    random = np.random.default_rng(64)  # as saturation(64) draws
    query, key = random.standard_normal((scaling.ROWS, 64)), random.standard_normal((scaling.KEYS, 64))
    jacobian = torch.func.jacrev(lambda row: row.softmax(-1))
    norms = torch.func.vmap(jacobian)(torch.from_numpy(query @ key.T)).norm(dim=(1, 2))
    assert figures.saturation(64, scaled=False).gradient == pytest.approx(np.median(norms.numpy()), rel=1e-9)


# The mask


def test_the_mask_experiment_to_the_digit():
    rows = {row.way: row for row in figures.mask_experiment()}
    assert list(rows) == ["zero", "delete", "inf", "1e9"]
    assert rows["zero"].weights.round(4).tolist() == [0.6652, 0.2447, 0.0900]
    assert rows["delete"].weights.round(4).tolist() == [0.6652, 0.2447, 0]
    assert round(rows["delete"].total, 4) == 0.91
    for way in ("inf", "1e9"):
        assert rows[way].weights.round(4).tolist() == [0.7311, 0.2689, 0]
        assert rows[way].weights[2] == 0  # exactly
    for way in ("zero", "inf", "1e9"):
        assert rows[way].total == pytest.approx(1, abs=1e-15)


def test_one_masked_pass_equals_the_prefix_passes():
    assert figures.prefix_error(64) < 1e-14


def test_prefix_error_sees_a_leak(monkeypatch):
    leaky = formula.attend
    monkeypatch.setattr(masking, "attend", lambda q, k, v, causal=False: leaky(q, k, v))
    assert figures.prefix_error(64) > 0.1


def test_times_are_times():
    times = figures.pass_times(8, runs=1)
    assert min(times.attention, times.rnn) > 0
    assert masking.Times(attention=0.5, rnn=2).ratio == 4


# The heads


@pytest.mark.parametrize("n_heads", [1, 2, 8])
def test_any_number_of_heads_has_the_same_parameters(n_heads):
    assert figures.parameter_count(n_heads) == 4 * 512**2
    own = MultiHeadAttention(512, n_heads)  # the given part of the exercise
    assert sum(parameter.numel() for parameter in own.parameters()) == 4 * 512**2


def test_eight_heads_see_eight_things():
    maps = figures.head_maps()
    assert maps.shape == (8, 7, 7)
    assert maps.sum(axis=2) == pytest.approx(np.ones((8, 7)))
    assert not np.triu(maps, 1).any()
    assert len({tuple(table.ravel()) for table in maps}) == 8
    first, second = (sentences.position(kind) for kind in ("animal", "pronoun"))
    assert maps[heads.HEADS.index("pronoun"), second, first] > 0.8
    assert maps[heads.HEADS.index("previous"), 6].argmax() == 5


@pytest.mark.parametrize("head", [0, 2, 7])
def test_one_head_changes_its_columns_alone_until_w_o(head):
    change = figures.change_one_head(head)
    assert np.flatnonzero(change.before).tolist() == list(range(64 * head, 64 * head + 64))
    assert (change.columns_before, change.columns_after) == (64, 512)


def test_shapes_of_a_forward_pass():
    assert dict(figures.shape_flow(3, 5)) == {
        "x": (3, 5, 512),
        "project": (3, 5, 512),
        "split": (3, 8, 5, 64),
        "scores": (3, 8, 5, 5),
        "weights": (3, 8, 5, 5),
        "mix": (3, 8, 5, 64),
        "concatenate": (3, 5, 512),
        "W_O": (3, 5, 512),
    }
