"""The heat map is true to its numbers, and the font that ships is small, free and up to date."""

import importlib.util

import numpy as np
import pytest
from fontTools.ttLib import TTFont

from grader.stub import ROOT
from student import figures

FONTS = ROOT / "student" / "fonts"
SUBSET = FONTS / "NotoSansCJKsc-subset.otf"


def causal_weights(scores: np.ndarray) -> np.ndarray:
    """Softmax over the keys j <= i of scores (L, L)."""
    exps = np.tril(np.exp(scores))
    return exps / exps.sum(axis=-1, keepdims=True)


@pytest.fixture
def toy() -> np.ndarray:
    embeddings, w_q = figures.toy_sentence()
    return causal_weights(embeddings @ w_q @ embeddings.T / np.sqrt(embeddings.shape[1]))


@pytest.fixture
def even() -> np.ndarray:
    return causal_weights(np.zeros((7, 7)))


def test_the_pronoun_looks_at_the_cat(toy):
    row = toy[figures.QUERY]
    assert "".join(figures.TOKENS) == "小猫追球因为它想玩"
    assert row[figures.KEY] > 0.8
    assert row.argmax() == figures.KEY
    assert not toy[np.triu_indices(7, 1)].any()


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_number_is_the_weight_of_its_cell(lang, toy, even):
    figure = figures.attention_heatmap(toy, even, lang)
    for ax, weights in zip(figure.axes[:2], (toy, even), strict=True):
        numbers = {text.get_position(): text for text in ax.texts if text.get_text()[1:2] == "."}
        assert {(j, i) for i in range(7) for j in range(i + 1)} == numbers.keys()
        for (j, i), text in numbers.items():
            assert text.get_text() == f"{weights[i, j]:.2f}"


def test_the_title_says_the_numbers_that_are_drawn(toy, even):
    titles = [ax.texts[-2].get_text() for ax in figures.attention_heatmap(even, toy).axes[:2]]
    assert "20%" in titles[0]
    assert f"{toy[figures.QUERY, figures.KEY]:.0%}" in titles[1]


def test_a_leak_into_the_future_is_shown(even):
    """Wrong weights are drawn as they are: nothing says "blocked" where something is not."""
    leaky = np.full((7, 7), 1 / 7)
    left, right, _ = figures.attention_heatmap(leaky, even).axes
    blocked = figures.LABELS["en"]["blocked"]
    assert blocked not in [text.get_text() for text in left.texts]
    assert blocked in [text.get_text() for text in right.texts]


def test_numbers_stand_out_from_their_cells():
    """Contrast of at least 4.5 : 1 (WCAG AA) at every weight."""
    for weight in np.linspace(0, 1, 256):
        background = figures.luminance(figures.COLOURS(weight))
        ink = 1.0 if figures.ink_on(weight) == "white" else 0.0
        dark, light = sorted((background, ink))
        assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_colours_darken_steadily():
    """A larger weight is darker, also in grey and for every kind of colour vision."""
    shades = [figures.luminance(figures.COLOURS(weight)) for weight in np.linspace(0, 1, 64)]
    assert shades == sorted(shades, reverse=True)


def test_the_font_is_small_and_free():
    assert SUBSET.stat().st_size < 200_000
    licence = (FONTS / "OFL.txt").read_text(encoding="utf-8")
    names = TTFont(SUBSET)["name"]
    assert "SIL OPEN FONT LICENSE Version 1.1" in licence
    assert names.getDebugName(0).removeprefix("© ") in licence  # the copyright notice
    assert "SIL Open Font License" in names.getDebugName(13)


def test_the_font_is_up_to_date():
    """It holds the characters that make_subset.py collects now: if not, run that again."""
    spec = importlib.util.spec_from_file_location("make_subset", FONTS / "make_subset.py")
    make_subset = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_subset)
    wanted = {ord(c) for c in make_subset.characters()}
    assert wanted <= TTFont(SUBSET).getBestCmap().keys()
