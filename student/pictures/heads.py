"""Multi-head attention: 512 numbers cut for eight readers, their eight maps, and W_O where they meet."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.patches import Rectangle

from student.measures.heads import D_MODEL, HEADS, N_HEADS, change_one_head, head_maps, parameter_count
from student.measures.sentences import SENTENCES
from student.pictures.style import (  # fmt: skip
    ACCENT,
    BLOCKED,
    BLUE,
    COLOURS,
    INK,
    LEFT,
    QUIET,
    Picture,
    arrow,
    box,
    cells,
    sheet,
    write,
)

SHADES = [COLOURS(0.12 + 0.16 * (n % 2)) for n in range(N_HEADS)]  # neighbours differ
LABELS = {
    "en": {
        "split": "512 = 8 × 64: eight views for the price of one",
        "split_note": "Each reader works on its own 64 of the 512 numbers of every token",
        "one": "one head",
        "eight": "eight heads",
        "maps_one": "1 map, L × L",
        "maps_eight": "8 maps, each L × L",
        "parameters": "{count:,} parameters",
        "width": "512 numbers of a token",
        "maps": "Eight heads draw eight maps of one sentence",
        "maps_note": "Toy heads, set by hand, with a causal mask. Trained heads find their own work.",
        "pronoun": "pronoun: its noun",
        "doer": "action: who does it",
        "object": "object: its action",
        "reason": "because and its actions",
        "previous": "the token before",
        "second": "two tokens before",
        "first": "the first token",
        "itself": "the token itself",
        "change": "Heads meet in W_O alone",
        "change_note": "The values of one head (number {head} of 8) are replaced: which columns move?",
        "before": "before W_O: {count} of 512 columns move",
        "after": "after W_O: {count} of 512 columns move",
    },
    "zh": {
        "split": "512 = 8 × 64：一份开销，八个视角",
        "split_note": "每位读者只处理每个 token 的 512 个数中属于自己的 64 个",
        "one": "单头",
        "eight": "八头",
        "maps_one": "1 张表，L × L",
        "maps_eight": "8 张表，每张 L × L",
        "parameters": "{count:,} 个参数",
        "width": "一个 token 的 512 个数",
        "maps": "八个头，给同一句话画八张表",
        "maps_note": "玩具头，手工设定，带 causal mask。真正训练出来的头，分工是自己找到的。",
        "pronoun": "代词找所指",
        "doer": "动作找主语",
        "object": "宾语找动作",
        "reason": "因为和前后动作",
        "previous": "看前一个词",
        "second": "看前面第二个词",
        "first": "看第一个词",
        "itself": "看自己",
        "change": "各个头只在 W_O 里碰面",
        "change_note": "只换掉一个头（8 个里的第 {head} 个）的 value：512 列里哪些会变？",
        "before": "W_O 之前：512 列中变了 {count} 列",
        "after": "W_O 之后：512 列中变了 {count} 列",
    },
}


def draw_head_split(lang: str = "en") -> Picture:
    """Draw one head of 512 above eight heads of 64, with the parameters that each of the two has."""
    labels = LABELS[lang]
    picture, axes = sheet(400, labels["split"], labels["split_note"])
    left, wide, high = 140, 480, 54
    write(axes, left + wide / 2, 302, labels["width"], 11, QUIET)
    for y, n_heads, name in ((258, 1, "one"), (118, N_HEADS, "eight")):
        write(axes, LEFT, y, labels[name], 12, ha="left")
        for n in range(n_heads):
            corner, size = (left + n * wide / n_heads, y - high / 2), wide / n_heads
            axes.add_patch(Rectangle(corner, size, high, facecolor=SHADES[n], edgecolor="white", linewidth=2))
            write(axes, corner[0] + size / 2, y, str(D_MODEL // n_heads), 12)
            if n_heads > 1:
                arrow(
                    axes, (corner[0] + size / 2, y - high / 2 - 4), (corner[0] + size / 2, y - high / 2 - 22)
                )
                draw_small_map(axes, corner[0] + size / 2, y - high / 2 - 40, SHADES[n])
        if n_heads == 1:
            arrow(axes, (left + wide / 2, y - high / 2 - 4), (left + wide / 2, y - high / 2 - 22))
            draw_small_map(axes, left + wide / 2, y - high / 2 - 40, SHADES[0])
        write(axes, left + wide + 28, y - high / 2 - 38, labels[f"maps_{name}"], 11, QUIET, ha="left")
        count = labels["parameters"].format(count=parameter_count(n_heads))
        write(axes, left + wide + 28, y, count, 13, BLUE, ha="left")
    return picture


def draw_small_map(axes: Axes, x: float, y: float, colour) -> None:
    """Draw the sign for a table of weights: a causal triangle of 4 x 4 cells around a point."""
    side = 7
    for i in range(4):
        for j in range(i + 1):
            corner = (x + (j - 2) * side, y + (1 - i) * side)
            axes.add_patch(Rectangle(corner, side - 1, side - 1, facecolor=COLOURS(0.65), linewidth=0))


def draw_head_maps(lang: str = "en") -> Picture:
    """Draw head_maps() as eight small heat maps of the first sentence, in two rows."""
    labels, tokens, height = LABELS[lang], SENTENCES[lang][0], 620
    picture, axes = sheet(height, labels["maps"], labels["maps_note"])
    side = 20
    for n, (name, weights) in enumerate(zip(HEADS, head_maps(), strict=True)):
        row, column = divmod(n, 4)
        left = 74 + column * 213
        top = height - 125 - row * 258
        write(axes, left + side * 3.5, top + 18, labels[name], 11.5)
        cells(axes, left, top, weights, side, weights=True, size=0)
        for i, token in enumerate(tokens):
            y = top - (i + 0.5) * side
            write(axes, left - 6, y, token, 8.5, QUIET, ha="right")
            upright = "\n".join(token) if lang == "zh" else token
            look = {"rotation": 0 if lang == "zh" else 90, "va": "top"}
            write(axes, left + (i + 0.5) * side, top - 7 * side - 6, upright, 8.5, QUIET, **look)
    return picture


def draw_head_change(lang: str = "en") -> Picture:
    """Draw change_one_head() as two strips of 512 columns: before W_O and after it."""
    labels, height, head = LABELS[lang], 430, 2
    change = change_one_head(head)
    picture, axes = sheet(height, labels["change"], labels["change_note"].format(head=head + 1))
    left, wide, high = 45, 810, 62
    for y, name, moved in ((285, "before", change.before), (80, "after", change.after)):
        count = int(np.count_nonzero(moved))
        draw_strip(axes, left, y, wide / D_MODEL, high, moved)
        write(axes, left, y + high / 2 + 18, labels[name].format(count=count), 12.5, ACCENT, ha="left")
        for n in range(N_HEADS + 1):
            x = left + n * wide / N_HEADS
            axes.plot((x, x), (y - high / 2 - 6, y - high / 2), color=QUIET, linewidth=1)
            write(axes, x, y - high / 2 - 17, str(n * D_MODEL // N_HEADS), 10, QUIET)
    box(axes, left + wide / 2, 178, 90, 34, "W_O", size=13, colour=INK)
    arrow(axes, (left + wide / 2, 226), (left + wide / 2, 198))
    arrow(axes, (left + wide / 2, 159), (left + wide / 2, 116))
    return picture


def draw_strip(axes: Axes, left: float, y: float, step: float, high: float, moved: np.ndarray) -> None:
    """Draw a column for each number: orange where it moved, grey where it stayed exactly the same."""
    extent = (left, left + step * len(moved), y - high / 2, y + high / 2)
    colours = ListedColormap([BLOCKED, ACCENT])
    axes.imshow(moved[None] > 0, extent=extent, aspect="auto", cmap=colours, vmin=0, vmax=1)
