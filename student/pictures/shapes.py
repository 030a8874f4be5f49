"""The shapes of a whole forward pass, as a diagram."""

from student.measures.heads import D_MODEL, N_HEADS, shape_flow
from student.pictures.style import BLUE, PALE_ACCENT, PALE_BLUE, QUIET, Picture, arrow, box, sheet, write

BATCH, LENGTH = 2, 7
ROW_1, ROW_2 = ("x", "project", "split", "scores"), ("weights", "mix", "concatenate", "W_O")
LABELS = {
    "en": {
        "title": "The shapes of a forward pass: in as (B, L, 512), out as (B, L, 512)",
        "note": "hidden = 512, 8 heads of 64. Grey: measured, B = {batch}, L = {length}. Orange: with heads.",
        "x": "x\nthe tokens",
        "project": "W_Q, W_K, W_V\nthree projections",
        "split": "split\nheads in front of tokens",
        "scores": "q.k / sqrt(64)\nscores, masked",
        "weights": "softmax\nweights",
        "mix": "weights × V\n8 notes of 64",
        "concatenate": "concatenate\nside by side again",
        "W_O": "W_O\nheads meet",
    },
    "zh": {
        "title": "一次前向传播的 shape：进来 (B, L, 512)，出去 (B, L, 512)",
        "note": "hidden = 512，8 头，每头 64 维。灰字：B = {batch}、L = {length} 的实测。橙色：带头这一维。",
        "x": "x\n输入",
        "project": "W_Q, W_K, W_V\n三次投影",
        "split": "拆头\n头排到 token 前面",
        "scores": "q.k / sqrt(64)\n分数，加 mask",
        "weights": "softmax\n权重",
        "mix": "权重 × V\n8 份 64 维笔记",
        "concatenate": "拼接\n并排订回去",
        "W_O": "W_O\n各头碰面",
    },
}


def draw_shape_flow(lang: str = "en") -> Picture:
    """Draw the steps of shape_flow() in reading order, with the general and the measured shape of each."""
    labels, flow = LABELS[lang], dict(shape_flow(BATCH, LENGTH))
    picture, axes = sheet(400, labels["title"], labels["note"].format(batch=BATCH, length=LENGTH))
    wide, high, step = 172, 64, 218
    for y, row in ((250, ROW_1), (95, ROW_2)):
        for n, name in enumerate(row):
            x, shape = 123 + n * step, flow[name]
            box(axes, x, y, wide, high, labels[name], face=PALE_ACCENT if len(shape) == 4 else PALE_BLUE)
            write(axes, x, y - high / 2 - 16, general(shape), 12.5, BLUE)
            write(axes, x, y - high / 2 - 37, str(shape), 10.5, QUIET)
            if n:
                arrow(axes, (x - step + wide / 2 + 5, y), (x - wide / 2 - 5, y))
    last, first = 123 + 3 * step, 123
    axes.plot((last + wide / 2, 880, 880), (250, 250, 160), color=QUIET, linewidth=1.4)
    axes.plot((880, 20, 20), (160, 160, 95), color=QUIET, linewidth=1.4)
    arrow(axes, (20, 95), (first - wide / 2 - 3, 95))
    return picture


def general(shape: tuple[int, ...]) -> str:
    """Return a measured shape with B and L for the sizes that change from call to call."""
    names = {BATCH: "B", LENGTH: "L", N_HEADS: str(N_HEADS), D_MODEL: str(D_MODEL)}
    return "(" + ", ".join(names.get(size, str(size)) for size in shape) + ")"
