"""The first route, an RNN: everything passes through one state of fixed size, one step after another."""

import numpy as np
from matplotlib.patches import Rectangle

from student.measures.routes import EXPLODING, STATE, RnnRun, rnn_gradients, rnn_shares, run_rnn
from student.measures.sentences import SENTENCES
from student.pictures.player import Player, Scene
from student.pictures.style import (  # fmt: skip
    ACCENT,
    BLUE,
    COLOURS,
    INK,
    LEFT,
    PALE_BLUE,
    QUIET,
    RULE,
    Picture,
    arrow,
    box,
    clear,
    plot,
    scientific,
    sheet,
    ticks,
    write,
)

HEIGHT, LENGTH = 450, 50
LABELS = {
    "en": {
        "title": "RNN: the whole past squeezed into one state, step by step",
        "note": 'Every bar is the state: always {size} numbers. Orange is what is left of "{first}".',
        "ready": "{count} tokens wait: each step needs the state of the step before",
        "forward": 'step {step} of {count}: "{first}" has {share} of the state',
        "back": "step {steps} back: {norm} of the gradient is left",
        "state": "state",
        "gradient": "gradient",
        "alt": "An RNN reads {sentence} in {count} steps. The first token's share of the state falls "
        "from 100% to {share}; of the last state's gradient {norm} reaches the first state.",
        "decay": "An RNN forgets its first token, and its gradient vanishes or explodes",
        "decay_note": "nn.RNN with {size} numbers in the state, as torch starts it, on random tokens",
        "share": "The first token's share of the state",
        "norm": "Gradient from state L back to state 1 (norm)",
        "even": "an even share, 1 / L",
        "rnn": "RNN",
        "length": "length L",
        "explodes": "recurrent weights × {factor:g}",
        "vanishes": "as torch starts it",
    },
    "zh": {
        "title": "RNN：把全部历史挤进一个状态，一步接一步",
        "note": "每根柱子都是状态：永远只有 {size} 个数。橙色是“{first}”还剩下的部分。",
        "ready": "{count} 个 token 排队：每一步都要等上一步的状态",
        "forward": "第 {step} 步，共 {count} 步：“{first}”在状态里占 {share}",
        "back": "梯度往回走了 {steps} 步：只剩 {norm}",
        "state": "状态",
        "gradient": "梯度",
        "alt": "RNN 用 {count} 步读完“{sentence}”。第一个 token 在状态里的占比从 100% 降到 {share}；"
        "最后一个状态的梯度传回第一个状态时只剩 {norm}。",
        "decay": "RNN 忘掉开头的 token，梯度不是消失就是爆炸",
        "decay_note": "nn.RNN，状态 {size} 个数，权重是 torch 的初始值，输入随机",
        "share": "第一个 token 在状态里的占比",
        "norm": "梯度从状态 L 传回状态 1（范数）",
        "even": "平分：1 / L",
        "rnn": "RNN",
        "length": "长度 L",
        "explodes": "循环权重 × {factor:g}",
        "vanishes": "torch 的初始值",
    },
}


def play_rnn(lang: str = "en") -> Player:
    """Animate the RNN on each sentence: forward with the first token's share, back with the gradient."""
    return Player([scene(tokens, lang) for tokens in SENTENCES[lang]], lang)


def scene(tokens: tuple[str, ...], lang: str) -> Scene:
    """Return the animation of one sentence: a frame before, one for each step, one for each step back."""
    labels, count, run = LABELS[lang], len(tokens), run_rnn(len(tokens))
    picture, axes = sheet(HEIGHT, "", dpi=110)
    sentence = ("" if lang == "zh" else " ").join(tokens)
    words = {"sentence": sentence, "count": count, "share": percent(run.shares[-1, 0])}
    words["norm"] = percent(run.gradients[-1, 0])

    def draw(frame: int) -> None:
        clear(axes, HEIGHT)
        forward, back = min(frame, count), max(frame - count, 0)
        write(axes, LEFT, HEIGHT - 32, labels["title"], 15, ha="left")
        note = labels["note"].format(size=STATE, first=tokens[0])
        write(axes, LEFT, HEIGHT - 60, note, 11, QUIET, ha="left")
        draw_chain(axes, tokens, run, forward, back, labels)
        if back:
            said = labels["back"].format(steps=back, norm=percent(run.gradients[-1, count - 1 - back]))
        elif forward:
            share = percent(run.shares[forward - 1, 0])
            said = labels["forward"].format(step=forward, count=count, first=tokens[0], share=share)
        else:
            said = labels["ready"].format(count=count)
        write(axes, LEFT, 26, said, 13, ACCENT, ha="left")

    return Scene(sentence, labels["alt"].format(**words), picture, 2 * count, draw)


def draw_chain(axes, tokens: tuple[str, ...], run: RnnRun, forward: int, back: int, labels: dict) -> None:
    """Draw tokens, and the states that have been reached: bars of one size, shared among the tokens."""
    count, tall, wide, low = len(tokens), 150, 46, 150
    step = 790 / count
    for t, token in enumerate(tokens):
        x = 95 + (t + 0.5) * step
        box(axes, x, 100, min(step - 14, 92), 34, token, face=PALE_BLUE, size=11.5)
        corner = (x - wide / 2, low)
        axes.add_patch(Rectangle(corner, wide, tall, facecolor="white", edgecolor=RULE, linewidth=1))
        if t >= forward:
            continue
        arrow(axes, (x, 120), (x, low - 4))
        bottom = low
        for s, share in enumerate(run.shares[t, : t + 1]):
            colour = ACCENT if s == 0 else COLOURS(0.15 + 0.6 * (s % 2) * 0.5)
            high = share * tall
            axes.add_patch(Rectangle((x - wide / 2, bottom), wide, high, facecolor=colour, linewidth=0))
            bottom += high
        write(axes, x, low + tall + 14, percent(run.shares[t, 0]), 11, ACCENT)
        if t:
            arrow(axes, (x - step + wide / 2 + 3, low + tall / 2), (x - wide / 2 - 3, low + tall / 2))
    write(axes, 62, low + tall / 2, labels["state"], 11, QUIET)
    for s in range(back):
        t = count - 1 - s
        x, y = 95 + (t + 0.5) * step, low + tall + 34
        arrow(axes, (x, y), (x - step, y), ACCENT, linewidth=2)
        write(axes, x - step, y + 15, percent(run.gradients[-1, t - 1]), 11, INK)
    if back:
        write(axes, 62, low + tall + 34, labels["gradient"], 11, QUIET)


def percent(share: float) -> str:
    """Return a share as a percentage with two digits that count."""
    return f"{100 * share:.2g}%" if share < 0.995 else "100%"


def draw_rnn_decay(lang: str = "en") -> Picture:
    """Draw the first token's share and the gradient's norm against L, from rnn_shares and rnn_gradients."""
    labels, lengths = LABELS[lang], np.arange(1, LENGTH + 1)
    picture, _ = sheet(440, labels["decay"], labels["decay_note"].format(size=STATE))
    for left, what in ((LEFT + 50, "share"), (520, "norm")):
        axes = plot(picture, (left, 62, 350, 250), labels["length"], labels[what])
        axes.set(yscale="log", xlim=(0, LENGTH + 1))
        ticks(axes, "x", (1, 10, 20, 30, 40, 50))
        if what == "share":
            shares = rnn_shares(LENGTH)
            axes.plot(lengths, 1 / lengths, color=BLUE, linewidth=2)
            axes.plot(lengths, shares, color=ACCENT, linewidth=2)
            write(axes, 30, 0.004, labels["even"], 11.5, BLUE)
            write(axes, 33, 3e-8, f"{labels['rnn']}: {scientific(shares[-1])}", 11.5, ACCENT, ha="left")
            marks = [10.0**-n for n in range(0, 19, 3)]
        else:
            axes.plot(lengths, rnn_gradients(LENGTH, EXPLODING), color=INK, linewidth=2)
            axes.plot(lengths, rnn_gradients(LENGTH), color=ACCENT, linewidth=2)
            write(axes, 49, 40, labels["explodes"].format(factor=EXPLODING), 11.5, INK, ha="right")
            write(axes, 22, 1e-12, labels["vanishes"], 11.5, ACCENT)
            axes.set_ylim(1e-17, 1e8)
            axes.axhline(1, color=RULE, linewidth=1)
            marks = [10.0**n for n in range(-15, 10, 5)]
        ticks(axes, "y", marks, [scientific(mark) for mark in marks])
    return picture
