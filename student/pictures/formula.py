"""The formula, step by step, with every number in sight."""

from matplotlib.patches import Rectangle

from student.measures.formula import four_steps
from student.pictures.style import ACCENT, BLOCKED, PALE_BLUE, QUIET, Picture, arrow, cells, sheet, write

SIDE, GAP, BOTTOM = 44, 56, 96
LABELS = {
    "en": {
        "title": "Four steps from queries, keys and values to an output",
        "note": "Three tokens, d_k = 2. Follow the first token's query along the orange frames.",
        "transposed": "K, turned: a column for each key",
        "values": "V: a row for each token",
        "query": "Q: a row\nfor each token",
        "scores": "1  compare\nscore = q.k",
        "scaled": "2  scale\ndivide by sqrt(d_k) = {root:.2f}",
        "weights": "3  softmax\neach row sums to 1",
        "output": "4  mix\nweights × V",
    },
    "zh": {
        "title": "四步：从 Q、K、V 算到输出",
        "note": "三个 token，d_k = 2。顺着橙色框，看第一个 token 的 query 怎么一路算下去。",
        "transposed": "K 的转置：一列一个 key",
        "values": "V：一行一个 token",
        "query": "Q：一行\n一个 token",
        "scores": "① 比较\n分数 = q.k",
        "scaled": "② 缩放\n除以 sqrt(d_k) = {root:.2f}",
        "weights": "③ softmax\n每行之和为 1",
        "output": "④ 汇总\n权重 × V",
    },
}


def draw_four_steps(lang: str = "en") -> Picture:
    """Draw the steps of four_steps() in one row; above it, the keys and values that come in."""
    labels, steps = LABELS[lang], four_steps()
    root = steps.key.shape[1] ** 0.5
    picture, axes = sheet(480, labels["title"], labels["note"])
    top = BOTTOM + 3 * SIDE
    left, lefts = 42, {}
    for name in ("query", "scores", "scaled", "weights", "output"):
        matrix = getattr(steps, name)
        width = matrix.shape[1] * SIDE
        look = {"weights": name == "weights", "face": BLOCKED if name == "query" else PALE_BLUE}
        cells(axes, left, top, matrix, SIDE, **look)
        axes.add_patch(
            Rectangle((left, top - SIDE), width, SIDE, fill=False, edgecolor=ACCENT, linewidth=2, zorder=4)
        )
        write(
            axes, left + width / 2, BOTTOM - 18, labels[name].format(root=root), 11, linespacing=1.5, va="top"
        )
        if lefts:
            arrow(axes, (left - GAP + 14, top - 1.5 * SIDE), (left - 14, top - 1.5 * SIDE))
        lefts[name] = left
        left += width + GAP
    above = top + 42
    for name, matrix, place in (("transposed", steps.key.T, "scores"), ("values", steps.value, "output")):
        rows, columns = matrix.shape
        middle = lefts[place] + columns * SIDE / 2
        cells(axes, lefts[place], above + rows * SIDE, matrix, SIDE)
        write(axes, middle, above + rows * SIDE + 18, labels[name], 11)
        arrow(axes, (middle, above - 8), (middle, top + 8), QUIET)
    return picture
