# %% [markdown] id="intro"
# %% [markdown] id="how-to-work"
# %% id="setup"
import json
import os
import sys
from pathlib import Path

import torch

from grader.judge.call import StudentError
from grader.judge.local import LocalSubmission
from grader.judge.source import SourceError, read_source
from grader.judge.submission import Student
from grader.reports.notebook import show_report
from student import figures

lang = "en"
grade = f'"{sys.executable}" -m pytest grader --color=yes --lang={lang}'
script = f'"{sys.executable}" student/attention_from_scratch.py'


def yours(use):
    """What `use` makes of student/attention.py as it is saved now; if it cannot be used, the reason."""
    try:
        code = LocalSubmission(read_source("student/attention.py"))
        return use(Student(code, refusal=None, from_scratch=True))
    except SourceError as error:
        print(error.message.say(lang))
    except StudentError as error:
        line = f":{error.line}" if error.line else ""
        print(f"student/attention.py{line}: {error.seen.say(lang)}")


# %% [markdown] id="why"
# %% [markdown] id="route-rnn"
# %% id="play-rnn"
figures.play_rnn(lang)
# %% [markdown] id="rnn-weakness"
# %% id="rnn-decay"
figures.draw_rnn_decay(lang)
# %% id="rnn-numbers"
for length in (7, 50):
    share = figures.rnn_shares(length)[-1]
    shrinks, grows = (figures.rnn_gradients(length, gain)[-1] for gain in (1, 5))
    print(f"{length = :2}: {share = :.1e}, gradient = {shrinks:.1e} (gain 1) or {grows:.1e} (gain 5)")
# %% [markdown] id="route-fully-connected"
# %% id="play-fully-connected"
figures.play_fully_connected(lang)
# %% [markdown] id="fully-connected-weakness"
# %% id="fully-connected-numbers"
before, after = (figures.welded_lines(sentence) for sentence in (0, 1))
print("largest change of a line:", figures.lines_changed(before, after))
try:
    figures.welded_lines(2)
except RuntimeError as error:
    print("RuntimeError:", error)
# %% [markdown] id="route-attention"
# %% id="play-attention"
figures.play_attention(lang)
# %% [markdown] id="attention-gains"
# %% id="attention-numbers"
before, after = (figures.attention_lines(sentence) for sentence in (0, 1))
print(f"largest change of a line: {figures.lines_changed(before, after):.2f}")
print("another length:", figures.attention_lines(2).shape)
print("steps one after the other, 512 tokens:", figures.sequential_steps(512))
# %% [markdown] id="routes-compared"
# %% [markdown] id="formula"
# %% id="four-steps"
figures.draw_four_steps(lang)
# %% [markdown] id="follow-the-numbers"
# %% id="one-number"
example = figures.four_steps()
print("query of token 2:", example.query[1], "  key of token 3:", example.key[2])
print("score:", example.query[1] @ example.key[2], "=", example.scores[1, 2])
# %% [markdown] id="why-scale"
# %% id="variance"
figures.draw_variance(lang)
# %% [markdown] id="saturation"
# %% id="saturation-picture"
figures.draw_saturation(lang)
# %% id="saturation-numbers"
for d_k in (8, 512):
    for scaled in (False, True):
        found = figures.saturation(d_k, scaled)
        print(f"{d_k = :3}, {scaled = !s:5}: largest = {found.largest:.3f}, gradient = {found.gradient:.1e}")
# %% [markdown] id="todo-scaling"
# %% id="check-scaling"
# !{grade} -m scaling --report-dir=report/scaling
# %% id="your-scores"
query, key = torch.from_numpy(example.query), torch.from_numpy(example.key)
yours(lambda code: code.attention_scores(query, key))
# %% [markdown] id="mask"
# %% [markdown] id="hiding"
# %% id="mask-experiment"
figures.draw_mask_experiment(lang)
# %% [markdown] id="why-inf"
# %% id="exp-of-little"
print(torch.tensor([0.0, -10.0, -1e9, -torch.inf]).exp())
# %% [markdown] id="one-pass"
# %% id="one-pass-picture"
figures.draw_one_pass(lang)
# %% id="prefix-error"
print(f"{figures.prefix_error():.1e}")
# %% [markdown] id="no-chain"
# %% id="pass-times"
figures.draw_pass_times(lang)
# %% [markdown] id="todo-mask"
# %% id="check-mask"
# !{grade} -m mask --report-dir=report/mask
# %% id="your-weights"
yours(lambda code: code.causal_mask(5))
# %% id="your-experiment"
scores, allowed = torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([[True, True, False]])
yours(lambda code: code.attention_weights(scores, allowed))
# %% [markdown] id="multi-head"
# %% [markdown] id="subspace"
# %% id="head-split"
figures.draw_head_split(lang)
# %% id="parameter-count"
for n_heads in (1, 8):
    print(f"{n_heads = }: {figures.parameter_count(n_heads):,} parameters")
# %% [markdown] id="eight-maps"
# %% id="head-maps"
figures.draw_head_maps(lang)
# %% [markdown] id="mixing"
# %% id="head-change"
figures.draw_head_change(lang)
# %% [markdown] id="shapes"
# %% id="shape-flow"
figures.draw_shape_flow(lang)
# %% [markdown] id="todo-head-split"
# %% id="check-head-split"
# !{grade} -m head_split --report-dir=report/head_split
# %% id="your-heads"
tokens = torch.arange(12.0).view(1, 2, 6)  # 2 tokens with 6 features each: 0 to 5, and 6 to 11
yours(lambda code: code.multi_head_attention(6, 2).split_heads(tokens))
# %% [markdown] id="todo-w-o"
# %% id="check-w-o"
# !{grade} -m W_O --report-dir=report/W_O
# %% id="your-forward"
sentence = torch.randn(1, 7, 512)


def shapes(code):
    """The shapes of the output and of the weights of a forward pass."""
    output, weights = code.multi_head_attention(512, 8).forward(sentence, code.causal_mask(7))
    return tuple(output.shape), tuple(weights.shape)


yours(shapes)
# %% [markdown] id="hands-on"
# %% id="run-checks"
# !{grade}
# %% id="report"
show_report()


# %% [markdown] id="cross-check"
# %% id="run-script"
# !{script}
# %% [markdown] id="heat-map"
# %% id="your-heat-map"
def heat_map(code):
    """Who attends to whom, with your attention: toy embeddings on the left, random numbers on the right."""
    x, w_q = (torch.from_numpy(numbers) for numbers in figures.toy_sentence())
    random = torch.Generator().manual_seed(0)
    random_q, random_k = (torch.randn(w_q.shape, generator=random, dtype=w_q.dtype) / 4 for _ in "qk")
    mask = code.causal_mask(len(x))
    _, toy_weights = code.scaled_dot_product_attention(x @ w_q, x, x, mask)
    _, random_weights = code.scaled_dot_product_attention(x @ random_q, x @ random_k, x, mask)
    return figures.attention_heatmap(toy_weights, random_weights, lang)


yours(heat_map)


# %% [markdown] id="score"
# %% id="last-run"
def last_run(tier):
    """Points and checks of a tier in the last run of all checks."""
    if os.environ.get("NBGRADER_EXECUTION") == "autograde":
        raise RuntimeError("graded without assignments/nbgrader_config.py: a notebook gives no points here")
    report = Path("report") / "report.json"
    if not report.exists():
        return {"en": "no report yet: run the checks above", "zh": "还没有报告：请先运行上面的检查"}[lang]
    found = next(entry for entry in json.loads(report.read_text("utf-8"))["tiers"] if entry["id"] == tier)
    return f"{found['score']:g} / {found['points']:g} ({found['passed']} / {found['total']})"


# %% id="tier-shape" points=15
last_run("shape")
# %% id="tier-causality" points=25
last_run("causality")
# %% id="tier-equivalence-1e-6" points=25
last_run("equivalence-1e-6")
# %% id="tier-equivalence-1e-16" points=15
last_run("equivalence-1e-16")
# %% id="tier-gradient-flow" points=20
last_run("gradient-flow")
# %% [markdown] id="retrieval"
# %% [markdown] id="ask-rnn-steps"
# %% [markdown] id="quiz-rnn-steps" points=1
# %% [markdown] id="ask-welded"
# %% [markdown] id="quiz-welded" points=1
# %% [markdown] id="ask-own-to-attention"
# %% [markdown] id="quiz-own-to-attention" points=1
# %% [markdown] id="ask-scores-shape"
# %% [markdown] id="quiz-scores-shape" points=1
# %% [markdown] id="ask-deviation"
# %% [markdown] id="quiz-deviation" points=1
# %% [markdown] id="ask-score"
# %% [markdown] id="quiz-score" points=1
# %% [markdown] id="ask-unscaled"
# %% [markdown] id="quiz-unscaled" points=1
# %% [markdown] id="ask-where-mask"
# %% [markdown] id="quiz-where-mask" points=1
# %% [markdown] id="ask-zero-score"
# %% [markdown] id="quiz-zero-score" points=1
# %% [markdown] id="ask-mask-count"
# %% [markdown] id="quiz-mask-count" points=1
# %% [markdown] id="ask-passes"
# %% [markdown] id="quiz-passes" points=1
# %% [markdown] id="ask-d-head"
# %% [markdown] id="quiz-d-head" points=1
# %% [markdown] id="ask-split-shape"
# %% [markdown] id="quiz-split-shape" points=1
# %% [markdown] id="ask-parameters"
# %% [markdown] id="quiz-parameters" points=1
# %% [markdown] id="ask-where-heads-meet"
# %% [markdown] id="quiz-where-heads-meet" points=1
# %% [markdown] id="deep-reading"
# %% [markdown] id="reflection-question"
# %% [markdown] id="reflection" points=10
# %% [markdown] id="end"
