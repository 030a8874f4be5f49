"""Why the scores are divided by sqrt(d_k), as measured curves."""

from student.measures.scaling import D_KS, KEYS, PAIRS, ROWS, dot_product_variance, saturation
from student.pictures.style import ACCENT, BLUE, LEFT, QUIET, Picture, plot, sheet, ticks, write

LABELS = {
    "en": {
        "variance": "The variance of q.k is d_k",
        "variance_note": "{pairs:,} random pairs for each d_k, components independent, mean 0, variance 1",
        "measured": "measured variance of q.k",
        "line": "line y = d_k",
        "saturation": "Without scaling, softmax goes one-hot and its gradient dies",
        "saturation_note": "{rows} random queries, each against {keys} keys: scaled, neither curve moves",
        "largest": "Largest of {keys} weights (mean)",
        "gradient": "Gradient through softmax (median norm)",
        "scaled": "divided by sqrt(d_k)",
        "raw": "not scaled",
    },
    "zh": {
        "variance": "q.k 的方差就是 d_k",
        "variance_note": "每个 d_k 取 {pairs:,} 对随机向量，分量独立、均值 0、方差 1",
        "measured": "实测 q.k 的方差",
        "line": "直线 y = d_k",
        "saturation": "不缩放，softmax 走向 one-hot，梯度消失",
        "saturation_note": "{rows} 个随机 query，各对 {keys} 个 key：除以 sqrt(d_k) 之后，两条曲线都不再动",
        "largest": "{keys} 个权重中最大的一个（均值）",
        "gradient": "穿过 softmax 的梯度（范数的中位数）",
        "scaled": "除以 sqrt(d_k)",
        "raw": "不缩放",
    },
}
SHOWN = (2, 8, 32, 128, 512)


def draw_variance(lang: str = "en") -> Picture:
    """Draw the measured variance of q.k for each d_k, and the line y = d_k."""
    labels = LABELS[lang]
    picture, _ = sheet(440, labels["variance"], labels["variance_note"].format(pairs=PAIRS))
    axes = plot(picture, (80, 62, 780, 290), "d_k")
    axes.set(xscale="log", yscale="log", xlim=(1.7, 700), ylim=(1.4, 800))
    axes.plot((1.7, 700), (1.7, 700), color=QUIET, linewidth=1.5)
    axes.plot(D_KS, [dot_product_variance(d_k) for d_k in D_KS], "o", color=BLUE, markersize=9)
    for d_k, x, y in ((2, 2, 3.4), (512, 400, 560)):
        write(axes, x, y, f"{dot_product_variance(d_k):.3g}", 12, BLUE)
    write(axes, 34, 62, labels["measured"], 12, BLUE, ha="right")
    write(axes, 100, 62, labels["line"], 12, QUIET, ha="left")
    ticks(axes, "x", D_KS)
    ticks(axes, "y", SHOWN)
    return picture


def draw_saturation(lang: str = "en") -> Picture:
    """Draw the largest weight and the gradient's norm against d_k, with and without scaling."""
    labels = LABELS[lang]
    picture, _ = sheet(440, labels["saturation"], labels["saturation_note"].format(rows=ROWS, keys=KEYS))
    measured = {scaled: [saturation(d_k, scaled) for d_k in D_KS] for scaled in (True, False)}
    for left, what in ((LEFT + 40, "largest"), (510, "gradient")):
        axes = plot(picture, (left, 62, 360, 250), "d_k", labels[what].format(keys=KEYS))
        axes.set(xscale="log", xlim=(1.8, 570))
        for scaled, colour in ((True, BLUE), (False, ACCENT)):
            values = [getattr(point, what) for point in measured[scaled]]
            axes.plot(D_KS, values, "o-", color=colour, linewidth=2, markersize=5 if scaled else 6)
        ticks(axes, "x", SHOWN)
        if what == "largest":
            axes.set_ylim(0, 1.05)
            ticks(axes, "y", (0, 0.25, 0.5, 0.75, 1))
            write(axes, 500, 0.325, labels["scaled"], 11.5, BLUE, ha="right")
            write(axes, 500, 0.78, labels["raw"], 11.5, ACCENT, ha="right")
        else:
            axes.set_yscale("log")
            axes.set_ylim(0.0005, 1.2)
            ticks(axes, "y", (0.001, 0.01, 0.1, 1), ("0.001", "0.01", "0.1", "1"))
            write(axes, 500, 0.55, labels["scaled"], 11.5, BLUE, ha="right")
            write(axes, 100, 0.013, labels["raw"], 11.5, ACCENT, ha="right")
    return picture
