"""Every picture and every frame, in both languages: no text is missing, clipped or over another."""

import html
import re
from collections.abc import Iterator

import numpy as np
import pytest
from fontTools.ttLib import TTFont
from matplotlib.figure import Figure
from matplotlib.text import Text

from grader.stub import ROOT
from student import figures
from student.measures.formula import attend
from student.measures.masking import Times
from student.pictures import lines, masking, player, rnn, style

SUBSET = ROOT / "student" / "fonts" / "NotoSansCJKsc-subset.otf"
GLYPHS = TTFont(SUBSET).getBestCmap().keys()
PICTURES = sorted(name for name in vars(figures) if name.startswith("draw_"))
LANGUAGES = ("en", "zh")


@pytest.fixture(autouse=True)
def fixed_times(monkeypatch):
    """Times that are the same at every run."""
    monkeypatch.setattr(masking, "pass_times", lambda length: Times(1e-6 * length, 5e-6 * length))


def drawn(figure: Figure) -> list[Text]:
    """Every text of a figure that is not empty, ticks included."""
    figure.draw_without_rendering()  # ticks get their texts only now
    return [text for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible()]


def check_texts(figure: Figure) -> None:
    """Every text is in the font that ships, on the canvas, and clear of every other."""
    texts = drawn(figure)
    assert len(texts) > 8
    boxes = []
    for text in texts:
        assert text.get_fontproperties().get_file() == str(SUBSET), text
        assert {ord(c) for c in text.get_text()} - {ord("\n")} <= GLYPHS, text
        box = text.get_window_extent()
        assert figure.bbox.count_contains(box.corners()) == 4, text
        assert not [other for other, its in boxes if box.overlaps(its)], text
        boxes.append((text.get_text(), box))


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize(
    "spoil", [(450, 200, "over"), (890, 100, "off the edge"), (450, 50, "no glyph: \u0416")]
)
def test_the_checks_find_a_bad_text(spoil):
    picture, axes = style.sheet(400, "Title", "Note")
    for n in range(8):
        style.write(axes, 450, 140 + 20 * n, f"line {n}")
    check_texts(picture)
    style.write(axes, *spoil)
    with pytest.raises(AssertionError):
        check_texts(picture)


def scenes(lang: str) -> Iterator[player.Scene]:
    for n, tokens in enumerate(figures.SENTENCES[lang]):
        yield rnn.scene(tokens, lang)
        yield lines.welded_scene(n, lang)
        yield lines.attention_scene(n, lang)


def words(figure: Figure) -> str:
    return "\n".join(text.get_text() for text in drawn(figure))


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("name", PICTURES)
def test_texts_of_a_picture(name, lang):
    picture = getattr(figures, name)(lang)
    check_texts(picture)
    assert len(picture.alt) > 20
    assert picture.get_figwidth() == 9


@pytest.mark.parametrize("lang", LANGUAGES)
def test_texts_of_the_heat_map(lang):
    x, w_q = figures.toy_sentence()
    toy, even = (attend(query, x, x, causal=True).weights for query in (x @ w_q, 0 * x))
    check_texts(figures.attention_heatmap(toy, even, lang))


@pytest.mark.parametrize("lang", LANGUAGES)
def test_texts_of_every_frame(lang):
    for scene in scenes(lang):
        for frame in range(scene.frames):
            scene.draw(frame)
            check_texts(scene.picture)


@pytest.mark.parametrize("name", PICTURES)
def test_chinese_pictures_are_in_chinese(name):
    chinese, english = (words(getattr(figures, name)(lang)) for lang in ("zh", "en"))
    assert re.search(r"[\u4e00-\u9fff]", chinese)
    assert not re.search(r"[\u4e00-\u9fff]", english)


def test_a_picture_shows_itself_with_a_text_for_screen_readers():
    picture = figures.draw_four_steps("en")
    shown = picture._repr_html_()
    assert shown.startswith('<img src="data:image/png;base64,')
    assert f'alt="{html.escape(picture.alt)}"' in shown
    assert len(shown) < 500_000


# Pictures say the numbers that were measured


def test_the_mask_picture_holds_every_weight():
    said = words(figures.draw_mask_experiment("en"))
    for row in figures.mask_experiment():
        for weight in row.weights:
            assert weight == 0 or f"{weight:.4f}" in said
        assert f"{row.total:.4f}" in said


def test_the_four_steps_show_every_number():
    steps, said = figures.four_steps(), words(figures.draw_four_steps("en")).splitlines()
    for matrix in vars(steps).values():
        assert {f"{number:.2f}" for number in np.ravel(matrix)} <= set(said)


def test_other_pictures_say_what_was_measured(monkeypatch):
    assert f"{figures.parameter_count(8):,}" in words(figures.draw_head_split("en"))
    assert "5.0 times as fast" in words(figures.draw_pass_times("en"))
    assert f"{figures.dot_product_variance(512):.3g}" in words(figures.draw_variance("en"))
    monkeypatch.setattr(masking, "prefix_error", lambda length: 0.25)
    assert "0.25" in words(figures.draw_one_pass("en"))
    said = words(figures.draw_shape_flow("en"))
    for _, shape in figures.shape_flow(2, 7):
        assert str(shape) in said
    said = words(figures.draw_head_change("en"))
    assert "64 of 512" in said
    assert "512 of 512" in said


def test_the_animations_say_what_was_measured():
    """The last frames hold the number that the route is about."""

    def said(scene: player.Scene, frame: int = -1) -> str:
        scene.draw(range(scene.frames)[frame])
        return words(scene.picture)

    changed = figures.lines_changed(figures.attention_lines(0), figures.attention_lines(1))
    assert f"{changed:.2f}" in said(lines.attention_scene(1, "en"))
    assert "0.00" in said(lines.welded_scene(1, "en"), -2)
    assert "(5x5 and 7x7)" in said(lines.welded_scene(2, "en"))
    backward = rnn.scene(figures.SENTENCES["en"][0], "en")
    assert rnn.percent(figures.rnn_gradients(7)[-1]) in said(backward)
    assert rnn.percent(figures.rnn_shares(7)[-1]) in said(backward)


# Players


@pytest.fixture(scope="module", params=LANGUAGES)
def welded(request) -> tuple[player.Player, str]:
    return figures.play_fully_connected(request.param), request.param


def test_a_player_needs_no_network_and_little_room(welded):
    shown = welded[0]._repr_html_()
    assert "http" not in shown
    assert "<link" not in shown
    assert len(shown) < 1_500_000


def test_a_player_has_a_choice_of_three_sentences(welded):
    shown, lang = welded[0]._repr_html_(), welded[1]
    choice = re.search(r'<div class="choices".*?</div>', shown)[0]
    assert choice.count('type="radio"') == 3
    assert choice.count(" checked") == 1
    for tokens in figures.SENTENCES[lang]:
        assert (" " if lang == "en" else "").join(tokens) in choice


def test_a_player_shows_its_first_frame_without_a_script(welded):
    images = re.findall(r"<img ([^>]*)>", welded[0]._repr_html_())
    assert len(images) == 3
    for image, scene in zip(images, welded[0].scenes, strict=True):
        assert 'src="data:image/png;base64,' in image
        assert f'alt="{html.escape(scene.alt)}"' in image


def test_a_player_has_every_frame(welded):
    shown = welded[0]._repr_html_()
    frames = sum(scene.frames for scene in welded[0].scenes)
    assert len(re.findall(r'frames\[\d+\] = "data:image/png', shown)) == frames


def test_buttons_have_symbols_and_titles_in_the_language(welded):
    shown, lang = welded[0]._repr_html_(), welded[1]
    titles = re.findall(r'<button title="([^"]*)" aria-label="([^"]*)"', shown)
    wanted = [title for name, title in player.LABELS[lang].items() if name in player.SYMBOLS]
    assert titles == 3 * [(title, title) for title in wanted]
    assert shown.count('<span aria-hidden="true">') == len(titles)
    assert "<i " not in shown


def test_one_player_twice_on_a_page(welded):
    """No id appears twice, so that no button drives another player."""
    page = welded[0]._repr_html_() + welded[0]._repr_html_()
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert len(re.findall(r"anim(\w{32}) = new Animation", page)) == 6
    assert len(set(re.findall(r"anim(\w{32}) = new Animation", page))) == 6


@pytest.mark.parametrize("route", ["play_rnn", "play_attention"])
def test_other_players(route):
    shown = getattr(figures, route)("zh")._repr_html_()
    assert len(shown) < 1_500_000
    assert shown.count("new Animation(") == 3
