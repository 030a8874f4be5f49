"""The second and the third route: lines from every token to every other, welded or computed."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba

from student.measures.routes import attention_lines, lines_changed, sequential_steps, welded_lines
from student.measures.sentences import SENTENCES, position
from student.pictures.player import Player, Scene
from student.pictures.style import ACCENT, BLUE, LEFT, PALE_BLUE, QUIET, RULE, box, clear, sheet, write

HEIGHT, ABOVE, BELOW = 430, 300, 110  # where the tokens that collect stand, and those that are read
LABELS = {
    "en": {
        "collects": "collects",
        "read": "is read",
        "welded": "Fully connected: one step, but the lines are welded",
        "welded_note": "{count} weights, fitted to the first sentence, then fixed. Thick line: large weight.",
        "welded_ready": "{length} tokens, {count} fixed weights: w[i, j] belongs to places, not to words",
        "welded_lines": "all lines work at once: {steps} step (the RNN takes {length})",
        "welded_right": "{query} → {best}: {weight:.0%}, as it should be in this sentence",
        "welded_same": "another sentence, the same lines: the largest change of a line is {change:.2f}",
        "welded_wrong": "{query} → {best}: {weight:.0%}, but needed is {query} → {needed}: {has:.0%}",
        "welded_length": "{length} tokens, and it breaks: {error}",
        "attention": "Attention: one step, and the lines are computed from the words",
        "attention_note": "weight = softmax(q.k / sqrt(d_k)), anew for every sentence. W_Q and W_K stay.",
        "attention_ready": "every token makes a query (above) and a key (below)",
        "attention_lines": "one matrix product: all {pairs} pairs in {steps} step (the RNN takes {length})",
        "looks": "{query} → {best}: {weight:.0%}",
        "looks_each": "{query} → {best}: {weight:.0%} each",
        "alike": "{query} → every token alike: {weight:.0%} each",
        "first": "choose another sentence: the lines will be others",
        "changed": "the largest change since the first sentence: {change:.2f} (welded: {welded:.2f})",
        "length": "{length} tokens: a table of {length} × {length}, with the same W_Q and W_K",
        "comma": ", ",
    },
    "zh": {
        "collects": "汇聚者",
        "read": "被看者",
        "welded": "全连接：一步直达，但连线是焊死的",
        "welded_note": "{count} 个权重，照第一句话定好，从此不变。线越粗，权重越大。",
        "welded_ready": "{length} 个 token，{count} 个固定权重：w[i, j] 认的是位置，不认词",
        "welded_lines": "所有连线同时工作：{steps} 步（RNN 要 {length} 步）",
        "welded_right": "{query} → {best}：{weight:.0%}，对这句话来说正合适",
        "welded_same": "换一句话，连线照旧：变化最大的一条只变了 {change:.2f}",
        "welded_wrong": "{query} → {best}：{weight:.0%}；真正需要的 {query} → {needed} 只有 {has:.0%}",
        "welded_length": "换成 {length} 个 token，直接报错：{error}",
        "attention": "Attention：一步直达，连线由词的内容现算",
        "attention_note": "权重 = softmax(q.k / sqrt(d_k))，每句话重新算。学到的、不变的，只是“怎么算匹配”。",
        "attention_ready": "每个 token 都算出一个 query（上排）和一个 key（下排）",
        "attention_lines": "一次矩阵乘：{pairs} 对全部算完，{steps} 步（RNN 要 {length} 步）",
        "looks": "{query} → {best}：{weight:.0%}",
        "looks_each": "{query} → {best}：各 {weight:.0%}",
        "alike": "{query} → 没有特别要找的，每个 token 各 {weight:.0%}",
        "first": "换一句话试试：连线会重排",
        "changed": "和第一句话比，变化最大的一条线变了 {change:.2f}（焊死的：{welded:.2f}）",
        "length": "{length} 个 token：{length} × {length} 的表，W_Q、W_K 还是原来的",
        "comma": "、",
    },
}


def play_fully_connected(lang: str = "en") -> Player:
    """Animate welded lines: fitted to the first sentence, kept for the second, broken by the third."""
    return Player([welded_scene(n, lang) for n in range(len(SENTENCES[lang]))], lang)


def play_attention(lang: str = "en") -> Player:
    """Animate attention's lines: all at once, then what each token looks at, then how much has changed."""
    return Player([attention_scene(n, lang) for n in range(len(SENTENCES[lang]))], lang)


def welded_scene(n: int, lang: str) -> Scene:
    """Return the animation of the n-th sentence on the fully connected layer."""
    labels, lines, first, tokens = LABELS[lang], welded_lines(), SENTENCES[lang][0], SENTENCES[lang][n]
    query = position("pronoun", n)
    length = len(first)
    words = {"count": lines.size, "length": length, "steps": sequential_steps(length)["fully connected"]}
    frames = [
        (first, None, None, None, labels["welded_ready"].format(**words)),
        (first, lines, None, None, labels["welded_lines"].format(**words)),
    ]
    try:
        here = welded_lines(n)
        best, needed = int(here[query].argmax()), position("animal", n)
        words |= {"query": tokens[query], "best": tokens[best], "weight": here[query, best]}
        words |= {"needed": tokens[needed], "has": here[query, needed], "change": lines_changed(lines, here)}
        if best == needed:
            frames.append((tokens, here, query, None, labels["welded_right"].format(**words)))
        else:
            frames.append((tokens, here, None, None, labels["welded_same"].format(**words)))
            frames.append((tokens, here, query, needed, labels["welded_wrong"].format(**words)))
    except RuntimeError as error:  # torch's own words
        said = labels["welded_length"].format(length=len(tokens), error=error)
        frames.append((tokens, lines, None, None, said))
    return scene(frames, tokens, labels["welded"], labels["welded_note"].format(**words), lang)


def attention_scene(n: int, lang: str) -> Scene:
    """Return the animation of the n-th sentence under attention."""
    labels, tokens, lines = LABELS[lang], SENTENCES[lang][n], attention_lines(n)
    length = len(tokens)
    words = {"pairs": lines.size, "length": length, "steps": sequential_steps(length)["attention"]}
    frames = [
        (tokens, None, None, None, labels["attention_ready"]),
        (tokens, lines, None, None, labels["attention_lines"].format(**words)),
    ]
    for i, row in enumerate(lines):
        best = np.flatnonzero(np.isclose(row, row.max()))
        kind = "alike" if len(best) == length else "looks" if len(best) == 1 else "looks_each"
        seen = labels["comma"].join(tokens[j] for j in best)
        said = labels[kind].format(query=tokens[i], best=seen, weight=row.max())
        frames.append((tokens, lines, i, None, said))
    if n == 0:
        said = labels["first"]
    elif lines.shape == attention_lines().shape:
        welded = lines_changed(welded_lines(), welded_lines(n))
        said = labels["changed"].format(change=lines_changed(attention_lines(), lines), welded=welded)
    else:
        said = labels["length"].format(length=length)
    frames.append((tokens, lines, None, None, said))
    return scene(frames, tokens, labels["attention"], labels["attention_note"], lang)


def scene(frames: list[tuple], tokens: tuple[str, ...], title: str, note: str, lang: str) -> Scene:
    """Return the animation of frames: (tokens, lines, query in the light, key it needs, what is said)."""
    picture, axes = sheet(HEIGHT, "", dpi=110)

    def draw(n: int) -> None:
        clear(axes, HEIGHT)
        write(axes, LEFT, HEIGHT - 32, title, 15, ha="left")
        write(axes, LEFT, HEIGHT - 60, note, 11, QUIET, ha="left")
        *shown, said = frames[n]
        draw_lines(axes, *shown, LABELS[lang])
        write(axes, LEFT, 32, said, 13, ACCENT, ha="left")

    sentence = ("" if lang == "zh" else " ").join(tokens)
    return Scene(
        sentence,
        f"{title}. {sentence}: {'; '.join(frame[-1] for frame in frames)}.",
        picture,
        len(frames),
        draw,
    )


def draw_lines(
    axes: Axes,
    tokens: tuple[str, ...],
    lines: np.ndarray | None,
    query: int | None,
    needed: int | None,
    labels: dict[str, str],
) -> None:
    """Draw two rows of tokens and a line for each weight; with a query in the light, the others fade."""
    places = len(tokens) if lines is None else len(lines)
    step = 790 / max(places, 7)
    centres = [95 + (n + 0.5) * step for n in range(places)]
    if lines is not None:
        pairs = sorted(np.ndindex(lines.shape), key=lambda pair: (pair[0] == query, lines[pair]))
        ends = [((centres[i], ABOVE - 18), (centres[j], BELOW + 18)) for i, j in pairs]
        widths = [0.6 + 9 * lines[pair] for pair in pairs]
        faint = query is not None
        colours = []
        for i, j in pairs:
            lit = i == query
            strength = 0.06 if faint and not lit else 0.2 + 0.8 * lines[i, j]
            broken = max(i, j) >= len(tokens)
            colours.append(to_rgba(ACCENT if lit else QUIET if broken else BLUE, strength))
        axes.add_collection(LineCollection(ends, linewidths=widths, colors=colours, zorder=1))
    if needed is not None:
        x, y = (centres[query], centres[needed]), (ABOVE - 18, BELOW + 18)
        axes.plot(x, y, color="black", linewidth=1.8, linestyle=(0, (4, 3)), zorder=2)
    for n, x in enumerate(centres):
        for y in (ABOVE, BELOW):
            here = n < len(tokens)
            lit = n == query and y == ABOVE
            look = {"face": PALE_BLUE} if here else {"face": "white", "edge": RULE, "line": 1}
            look |= {"edge": ACCENT} if lit else {}
            box(axes, x, y, min(step - 14, 96), 34, tokens[n] if here else "", size=11.5, **look)
    write(axes, LEFT, ABOVE, labels["collects"], 11, QUIET, ha="left")
    write(axes, LEFT, BELOW, labels["read"], 11, QUIET, ha="left")
