"""The heat map: who attends to whom, in weights that the caller computed."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from student.measures.sentences import SENTENCES, position
from student.pictures.style import ACCENT, CENTRED, COLOURS, HATCHED, INK, QUIET, Picture, font, ink_on

TOKENS = list(SENTENCES["zh"][0])
IN_ENGLISH = ("kitten", "chase", "ball", "because", "it", "want", "play")
QUERY, KEY = position("pronoun"), position("animal")  # the pair that the picture is about

LABELS = {
    "en": {
        "heading": "Who attends to whom in {sentence} (kitten chases ball because it wants to play)",
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


def attention_heatmap(left: ArrayLike, right: ArrayLike, lang: str = "en") -> Figure:
    """Draw two tables of attention weights (7, 7) of the toy sentence side by side.

    `left` comes from the toy embeddings, `right` from a random initialisation.
    """
    labels = LABELS[lang]
    figure = Picture(figsize=(13, 7.2), dpi=150, facecolor="white")
    axes = figure.subplots(1, 2)
    figure.subplots_adjust(left=0.085, right=0.91, bottom=0.115, top=0.775, wspace=0.2)
    tokens = named = TOKENS
    if lang == "en":
        tokens = [f"{token}\n{word}" for token, word in zip(TOKENS, IN_ENGLISH, strict=True)]
        named = [f"{token} ({word})" for token, word in zip(TOKENS, IN_ENGLISH, strict=True)]
    heading = figure.alt = labels["heading"].format(sentence="".join(TOKENS))

    for ax, weights, side in zip(axes, (left, right), ("left", "right"), strict=True):
        weights = np.asarray(weights, dtype=float)
        draw_table(ax, tokens, weights, labels)
        corner = (KEY - 0.5, QUERY - 0.5)
        ax.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=ACCENT, linewidth=3.5, zorder=4))
        ax.get_yticklabels()[QUERY].set_color(ACCENT)
        ax.get_xticklabels()[KEY].set_color(ACCENT)
        words = {"query": named[QUERY], "key": named[KEY], "count": QUERY + 1, "share": 1 / (QUERY + 1)}
        words["weight"] = weights[QUERY, KEY]
        title = labels[side].format(**words)
        add_title(ax, title, labels[side + "_note"].format(**words))
        figure.alt += f". {title}"
        ax.apply_aspect()  # now, so that what stands beside the square table can line up with it
    figure.text(axes[0].get_position().x0, 0.93, heading, fontproperties=font(19), color=INK)
    add_scale(figure, axes[1], labels["scale"])
    return figure


def draw_table(ax: Axes, tokens: Sequence[str], weights: np.ndarray, labels: dict[str, str]) -> None:
    """Draw one table (L, L): a colour and a number in each cell, hatching where the weight is exactly 0."""
    length = len(tokens)
    ax.imshow(np.ma.masked_equal(weights, 0), cmap=COLOURS, vmin=0, vmax=1)
    for (i, j), weight in np.ndenumerate(weights):
        if weight == 0:
            ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, **HATCHED))
        else:
            ax.text(j, i, f"{weight:.2f}", color=ink_on(weight), fontproperties=font(13.5), **CENTRED)
    if not weights[np.triu_indices(length, 1)].any():  # say it only where it is true of the numbers
        box = {"facecolor": "white", "edgecolor": "none", "boxstyle": "round,pad=0.5"}
        where = (length - 2.35, 1.35)
        ax.text(
            *where, labels["blocked"], color=QUIET, fontproperties=font(13), bbox=box, zorder=3, **CENTRED
        )

    for set_ticks in (ax.set_xticks, ax.set_yticks):
        size = 12.5 if "\n" in tokens[0] else 16
        set_ticks(range(length), tokens, fontproperties=font(size), color=INK)
        set_ticks(np.arange(length + 1) - 0.5, minor=True)
    ax.grid(which="minor", color="white", linewidth=2.5)
    ax.tick_params(which="both", length=0)
    ax.spines[:].set_visible(False)
    ax.set_xlabel(labels["key"], fontproperties=font(13), color=QUIET, labelpad=8)
    ax.set_ylabel(labels["query"], fontproperties=font(13), color=QUIET, labelpad=8)


def add_title(ax: Axes, title: str, note: str) -> None:
    """Write a panel's message above it, and a quieter line that explains it."""
    ax.text(0, 1.095, title, transform=ax.transAxes, fontproperties=font(15), color=INK)
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
