"""The lesson's pictures.

Each function returns a matplotlib Figure; none needs a screen or an installed font.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

INK, QUIET, ACCENT = "#1b2733", "#5b6875", "#c2410c"
CENTRED = {"ha": "center", "va": "center"}
BLOCKED, BLOCKED_LINE = "#eceef0", "#d3d7db"
# One hue from light to dark, with orange as the only accent: told apart by every kind of colour vision.
COLOURS = LinearSegmentedColormap.from_list(
    "attention", ["#f4f8fc", "#b5d2ea", "#5a9bd0", "#1f66ad", "#08306b"]
)

# The toy sentence: what kind of word each token is, and how strongly a kind of word looks for another.
KINDS = {
    "小猫": "animal",
    "追": "action",
    "球": "thing",
    "因为": "link",
    "它": "pronoun",
    "想": "action",
    "玩": "action",
}
LOOKS_FOR = {
    ("pronoun", "animal"): 7,
    ("action", "animal"): 5,
    ("action", "pronoun"): 6,
    ("action", "thing"): 3,
    ("thing", "action"): 5,
    ("link", "action"): 5,
}
TOKENS = list(KINDS)
QUERY, KEY = TOKENS.index("它"), TOKENS.index("小猫")  # the pair that the picture is about

LABELS = {
    "en": {
        "heading": "Who attends to whom in {sentence}",
        "left": "Toy embeddings: {query} gives {weight:.0%} to {key}",
        "left_note": "A pronoun asks for an animal, an action asks who does it",
        "right": "Random initialisation: {query} gives {weight:.0%} to {key}",
        "right_note": "Nothing learnt yet: an even share among {count} tokens is {share:.0%}",
        "query": "query: who attends",
        "key": "key: who is attended to",
        "blocked": "the future:\nblocked",
        "scale": "attention weight (each row sums to 1)",
    },
    "zh": {
        "heading": "谁在看谁：{sentence}",
        "left": "玩具语义嵌入：{query}把 {weight:.0%} 给了{key}",
        "left_note": "代词要找动物，动作要找谁在做",
        "right": "随机初始化：{query}把 {weight:.0%} 给了{key}",
        "right_note": "什么也没学到：{count} 个词平分，每个词是 {share:.0%}",
        "query": "query：谁在看",
        "key": "key：被谁看",
        "blocked": "未来：\n看不见",
        "scale": "注意力权重（每行之和为 1）",
    },
}


def font(size: float) -> FontProperties:
    """Return the font that ships with the lesson: it has every character that is drawn, Chinese ones too."""
    return FontProperties(fname=Path(__file__).parent / "fonts" / "NotoSansCJKsc-subset.otf", size=size)


def toy_sentence() -> tuple[np.ndarray, np.ndarray]:
    """Return embeddings (7, 5), one feature for each kind of word, and a W_Q (5, 5): queries are x @ W_Q."""
    kinds = list(dict.fromkeys(KINDS.values()))
    embeddings = np.array([[kind == feature for feature in kinds] for kind in KINDS.values()], dtype=float)
    w_q = np.array([[LOOKS_FOR.get((asking, asked), 0) for asked in kinds] for asking in kinds], dtype=float)
    return embeddings, w_q


def attention_heatmap(left: ArrayLike, right: ArrayLike, lang: str = "en") -> Figure:
    """Draw two tables of attention weights (7, 7) of the toy sentence side by side.

    `left` comes from the toy embeddings, `right` from a random initialisation.
    """
    labels = LABELS[lang]
    figure = Figure(figsize=(13, 7.2), dpi=150, facecolor="white")
    axes = figure.subplots(1, 2)
    figure.subplots_adjust(left=0.075, right=0.905, bottom=0.115, top=0.775, wspace=0.2)
    heading = labels["heading"].format(sentence="".join(TOKENS))

    for ax, weights, side in zip(axes, (left, right), ("left", "right"), strict=True):
        weights = np.asarray(weights, dtype=float)
        draw_table(ax, TOKENS, weights, labels)
        corner = (KEY - 0.5, QUERY - 0.5)
        ax.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=ACCENT, linewidth=3.5, zorder=4))
        ax.get_yticklabels()[QUERY].set_color(ACCENT)
        ax.get_xticklabels()[KEY].set_color(ACCENT)
        words = {"query": TOKENS[QUERY], "key": TOKENS[KEY], "count": QUERY + 1, "share": 1 / (QUERY + 1)}
        words["weight"] = weights[QUERY, KEY]
        add_title(ax, labels[side].format(**words), labels[side + "_note"].format(**words))
        ax.apply_aspect()  # now, so that what stands beside the square table can line up with it
    figure.text(axes[0].get_position().x0, 0.93, heading, fontproperties=font(22), color=INK)
    add_scale(figure, axes[1], labels["scale"])
    return figure


def draw_table(ax: Axes, tokens: Sequence[str], weights: np.ndarray, labels: dict[str, str]) -> None:
    """Draw one table (L, L): a colour and a number in each cell, hatching where the weight is exactly 0."""
    length = len(tokens)
    ax.imshow(np.ma.masked_equal(weights, 0), cmap=COLOURS, vmin=0, vmax=1)
    for (i, j), weight in np.ndenumerate(weights):
        if weight == 0:
            style = {"facecolor": BLOCKED, "edgecolor": BLOCKED_LINE, "hatch": "////", "linewidth": 0}
            ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, **style))
        else:
            ax.text(j, i, f"{weight:.2f}", color=ink_on(weight), fontproperties=font(13.5), **CENTRED)
    if not weights[np.triu_indices(length, 1)].any():  # say it only where it is true of the numbers
        box = {"facecolor": "white", "edgecolor": "none", "boxstyle": "round,pad=0.5"}
        where = (length - 2.35, 1.35)
        ax.text(
            *where, labels["blocked"], color=QUIET, fontproperties=font(13), bbox=box, zorder=3, **CENTRED
        )

    for set_ticks in (ax.set_xticks, ax.set_yticks):
        set_ticks(range(length), tokens, fontproperties=font(16), color=INK)
        set_ticks(np.arange(length + 1) - 0.5, minor=True)
    ax.grid(which="minor", color="white", linewidth=2.5)
    ax.tick_params(which="both", length=0)
    ax.spines[:].set_visible(False)
    ax.set_xlabel(labels["key"], fontproperties=font(13), color=QUIET, labelpad=8)
    ax.set_ylabel(labels["query"], fontproperties=font(13), color=QUIET, labelpad=8)


def add_title(ax: Axes, title: str, note: str) -> None:
    """Write a panel's message above it, and a quieter line that explains it."""
    ax.text(0, 1.095, title, transform=ax.transAxes, fontproperties=font(16.5), color=INK)
    ax.text(0, 1.035, note, transform=ax.transAxes, fontproperties=font(11.5), color=QUIET)


def add_scale(figure: Figure, ax: Axes, label: str) -> None:
    """Draw the colour bar beside the right panel, as tall as the panel."""
    box = ax.get_position()
    bar_axes = figure.add_axes((box.x1 + 0.018, box.y0, 0.012, box.height))
    bar = figure.colorbar(ax.images[0], cax=bar_axes, ticks=[0, 0.25, 0.5, 0.75, 1])
    bar.ax.set_yticklabels(["0", "0.25", "0.5", "0.75", "1"], fontproperties=font(11.5), color=QUIET)
    bar.set_label(label, fontproperties=font(12), color=QUIET, labelpad=10)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0)


def ink_on(weight: float) -> str:
    """Return the colour of a number that reads best on the colour of its cell."""
    return "white" if luminance(COLOURS(weight)) < 0.18 else "black"  # either way a contrast of 4.5 or more


def luminance(colour: tuple[float, ...]) -> float:
    """Return the relative luminance (0 black, 1 white) of an sRGB colour, as WCAG defines it."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3]]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))
