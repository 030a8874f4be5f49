"""The causal mask: four ways to hide a key, and what one masked pass gives for free."""

from matplotlib.patches import Rectangle

from student.measures.masking import FEATURES, RUNS, mask_experiment, pass_times, prefix_error
from student.measures.sentences import SENTENCES
from student.pictures.style import (  # fmt: skip
    ACCENT,
    BLUE,
    INK,
    LEFT,
    PALE_BLUE,
    QUIET,
    RULE,
    Picture,
    arrow,
    box,
    cells,
    plot,
    scientific,
    sheet,
    ticks,
    write,
)

LENGTHS = (16, 32, 64, 128, 256)
LABELS = {
    "en": {
        "experiment": "Hide a key before the softmax, with \N{MINUS SIGN}∞: nothing leaks, the sum stays 1",
        "experiment_note": "A row with the allowed scores 2 and 1, and one key that must not be seen",
        "head": ("allowed\nscore 2", "allowed\nscore 1", "future\nblocked", "sum"),
        "zero": "score set to 0\nbefore the softmax",
        "delete": "score set to 0,\nweight deleted afterwards",
        "inf": "score set to \N{MINUS SIGN}∞\nbefore the softmax",
        "1e9": "score set to \N{MINUS SIGN}1e9\nbefore the softmax",
        "zero_why": "The future gets {blocked:.0%}:\nexp(0) = 1 counts in the sum",
        "delete_why": "{lost:.0%} is lost: the sum still\nheld the key that went",
        "inf_why": "Right: exp(\N{MINUS SIGN}∞) = 0, as if\nthe key were not there",
        "1e9_why": "Right: exp(\N{MINUS SIGN}1e9) is 0\nin floating point",
        "pass": "One masked pass answers {count} training questions at once",
        "pass_note": "Row i sees the tokens up to i and predicts the next one. No row waits for another.",
        "sees": "what each row sees",
        "predicts": "must predict",
        "end": "(end)",
        "equal": "{length} prefixes, one by one,\ngive the same outputs.\nLargest difference:",
        "times": "One masked pass against {length} steps in a row: {ratio:.1f} times as fast here",
        "times_note": "Measured just now on this machine; {features} features, best of {runs} runs",
        "milliseconds": "milliseconds",
        "length": "length L",
        "rnn": "RNN: L steps, each waits",
        "attention": "attention: one pass",
    },
    "zh": {
        "experiment": "在 softmax 之前置 \N{MINUS SIGN}∞：一点不漏，总和还是 1",
        "experiment_note": "某一行允许的分数是 2 和 1，另有一个必须屏蔽的未来位置",
        "head": ("允许\n分数 2", "允许\n分数 1", "未来\n须屏蔽", "总和"),
        "zero": "softmax 之前\n分数置 0",
        "delete": "分数置 0，\nsoftmax 之后再删掉",
        "inf": "softmax 之前\n分数置 \N{MINUS SIGN}∞",
        "1e9": "softmax 之前\n分数置 \N{MINUS SIGN}1e9",
        "zero_why": "未来分走 {blocked:.0%}：\nexp(0) = 1 照样进分母",
        "delete_why": "凭空丢掉 {lost:.0%}：\n分母里还留着被删的格子",
        "inf_why": "正确：exp(\N{MINUS SIGN}∞) = 0，\n就像这一格不存在",
        "1e9_why": "正确：浮点数里\nexp(\N{MINUS SIGN}1e9) 就是 0",
        "pass": "带 mask 的一次前向，同时回答 {count} 道训练题",
        "pass_note": "第 i 行只看前 i 个 token，预测下一个。哪一行都不用等别的行。",
        "sees": "每一行看到什么",
        "predicts": "要预测",
        "end": "（句末）",
        "equal": "把 {length} 个前缀逐个算一遍，\n得到的输出完全一样。\n最大误差：",
        "times": "{length} 步排队的用时，是一次带 mask 前向的 {ratio:.1f} 倍（本机实测）",
        "times_note": "刚刚在这台机器的处理器上测得；{features} 维特征，取 {runs} 次中最快的一次",
        "milliseconds": "毫秒",
        "length": "长度 L",
        "rnn": "RNN：L 步，步步要等",
        "attention": "attention：一次算完",
    },
}


def draw_mask_experiment(lang: str = "en") -> Picture:
    """Draw the weights of mask_experiment() as a table: for each way its sum, and what it means."""
    labels, height, side = LABELS[lang], 480, 78
    picture, axes = sheet(height, labels["experiment"], labels["experiment_note"])
    left, top = 240, height - 135
    columns = [left + side * (n + 0.5) for n in range(3)] + [left + side * 3 + 55]
    for x, text in zip(columns, labels["head"], strict=True):
        write(axes, x, top + 22, text, 11, QUIET, linespacing=1.35)
    for n, row in enumerate(mask_experiment()):
        y = top - n * side - side / 2
        wrong = row.weights[2] > 0 or abs(row.total - 1) > 1e-12
        cells(axes, left, y + side / 2, row.weights[None], side, digits=4, weights=True, size=13)
        if row.weights[2] == 0:
            write(axes, columns[2], y, "0", 13)
        write(axes, LEFT, y, labels[row.way], 11.5, ha="left", linespacing=1.4)
        write(axes, columns[3], y, f"{row.total:.4f}", 13, ACCENT if abs(row.total - 1) > 1e-12 else INK)
        why = labels[row.way + "_why"].format(blocked=row.weights[2], lost=1 - row.total)
        write(axes, columns[3] + 55, y, why, 11.5, ACCENT if wrong else BLUE, ha="left", linespacing=1.4)
        if row.weights[2] > 0:
            corner = (left + 2 * side + 1, y - side / 2 + 1)
            frame = Rectangle(
                corner, side - 2, side - 2, fill=False, edgecolor=ACCENT, linewidth=2.5, zorder=4
            )
            axes.add_patch(frame)
    return picture


def draw_one_pass(lang: str = "en") -> Picture:
    """Draw the triangle of prefixes with what each row must predict, and the error against prefix passes."""
    labels, tokens, height, length = LABELS[lang], SENTENCES[lang][0], 450, 64
    picture, axes = sheet(height, labels["pass"].format(count=len(tokens)), labels["pass_note"])
    wide, high, left, top = 68, 44, 40, height - 105
    write(axes, left, top + 12, labels["sees"], 11, QUIET, ha="left")
    write(axes, left + 7.85 * wide, top + 12, labels["predicts"], 11, QUIET)
    for i in range(len(tokens)):
        y = top - (i + 0.5) * high - 6
        for j, token in enumerate(tokens):
            x = left + (j + 0.5) * wide
            look = {"face": PALE_BLUE} if j <= i else {"face": "white", "edge": RULE, "line": 1}
            box(axes, x, y, wide - 5, high - 6, token if j <= i else "", size=10, **look)
        arrow(axes, (left + 7.08 * wide, y), (left + 7.34 * wide, y))
        answer = tokens[i + 1] if i + 1 < len(tokens) else labels["end"]
        write(axes, left + 7.85 * wide, y, answer, 11, BLUE)
    x, middle = 765, top - 3.5 * high
    write(axes, x, middle + 34, labels["equal"].format(length=length), 11, linespacing=1.5)
    write(axes, x, middle - 32, scientific(prefix_error(length)), 20, BLUE)
    return picture


def draw_pass_times(lang: str = "en") -> Picture:
    """Measure pass_times() at several lengths and draw both; the title says the ratio at the last."""
    labels = LABELS[lang]
    times = [pass_times(length) for length in LENGTHS]
    title = labels["times"].format(length=LENGTHS[-1], ratio=times[-1].ratio)
    picture, _ = sheet(440, title, labels["times_note"].format(features=FEATURES, runs=RUNS))
    axes = plot(picture, (80, 62, 780, 255), labels["length"], labels["milliseconds"])
    for name, colour in (("rnn", ACCENT), ("attention", BLUE)):
        values = [getattr(point, name) * 1000 for point in times]
        axes.plot(LENGTHS, values, "o-", color=colour, linewidth=2, markersize=6)
        write(axes, 262, values[-1], f"{values[-1]:.2g}", 11.5, colour, ha="left")
    most = times[-1].rnn * 1000
    write(axes, 150, most * 0.83, labels["rnn"], 12, ACCENT, ha="right")
    write(
        axes, 150, most * 0.06 + times[-2].attention * 1000 * 1.6, labels["attention"], 12, BLUE, ha="right"
    )
    axes.set(xlim=(0, 282), ylim=(0, most * 1.12))
    ticks(axes, "x", LENGTHS)
    step = float(f"{most / 4:.0e}")
    ticks(axes, "y", [n * step for n in range(1 + int(most / step))])
    return picture
