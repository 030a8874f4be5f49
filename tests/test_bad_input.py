"""Files and code that nobody should hand in: each gets a clear message, the other checks go on."""

import io
import json
import os
import re
import signal
import warnings
from collections.abc import Callable

import pytest
from conftest import REFERENCE, SECONDS, body
from rich.console import Console

from grader import manifest
from grader.judge.score import Score
from grader.judge.source import LARGEST
from grader.reports import gradescope, html_report, json_report, terminal
from grader.reports.markdown import as_markdown
from grader.run import grade


def judged(path: str) -> Score:
    """Grade a file, and insist on what holds for all: a number for a score, reports that can be written."""
    score = grade(path)
    assert score.score is not None, [
        result.finding.seen.say("en") for result in score.results if result.outcome == "grader_error"
    ]
    assert score.complete
    for lang in ("en", "zh"):
        screen = io.StringIO()
        terminal.show(score, Console(file=screen, width=80), lang)
        report = json.dumps(json_report.as_dict(score, lang), allow_nan=False)
        pages = html_report.as_html(score, lang), as_markdown(score, lang)
        results = json.dumps(gradescope.as_dict(score, lang), allow_nan=False)
        for text in (screen.getvalue(), report, *pages, results):
            assert "Traceback" not in text
            assert "\x1b" not in text
    return score


@pytest.fixture
def only_scaling(monkeypatch):
    """Grade with the checks of one TODO alone: enough where one function is wrong, in a tenth of the time."""
    scaling = tuple((check, function) for check, function in manifest.checks() if check.todo == "scaling")
    monkeypatch.setattr(manifest, "checks", lambda *_: scaling)


def lost(score) -> list:
    """The results that did not pass."""
    return [result for result in score.results if result.outcome != "passed"]


def said(score) -> set[str]:
    """What was seen where something was lost."""
    return {result.finding.seen.say("en") for result in lost(score)}


UNREADABLE = {  # name: text of the file, and what the message says after its name
    "empty": (b"", " is empty"),
    "blank": (b" \n\t\n", " is empty"),
    "not UTF-8": (REFERENCE.encode() + b"\n# caf\xe9\n", ":{last} is not UTF-8"),
    "UTF-16": (REFERENCE.encode("utf-16"), ":1 is not UTF-8"),
    "NUL": (REFERENCE.encode() + b"\0", " is not valid Python"),
    "syntax error": (REFERENCE.encode() + b"\ndef f(:\n", ":{last} is not valid Python"),
    "unclosed bracket": (b"import torch\nx = (1,\n", ":2 is not valid Python: '(' was never closed"),
    "tabs and spaces": (b"def f():\n        x = 1\n\treturn x\n", ":3 is not valid Python: inconsistent"),
    "indentation": (b"import torch\n  x = 1\n", ":2 is not valid Python: unexpected indent"),
    "deep brackets": (b"x = " + b"(" * 5000 + b")" * 5000, " is not valid Python"),
    "deep minus": (b"x = " + b"-" * 100_000 + b"1", " is not valid Python"),
    "deep blocks": (b"".join(b" " * n + b"if 1:\n" for n in range(200)), " is not valid Python"),
    "Python 2": (b"print 'hello'\n", ":1 is not valid Python: Missing parentheses"),
    "a notebook": (b'{"cells": [1, 2, null]}\nx y\n', ":2 is not valid Python"),
    "huge": (b"# " + b"x" * LARGEST, f" has more than {LARGEST} bytes"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_file_that_is_no_python_earns_nothing_and_is_told_why(submit, name):
    data, message = UNREADABLE[name]
    path = submit(text=data)
    last = data.count(b"\n")
    score = judged(path)
    assert score.score == 0
    (words,) = said(score)
    assert words.startswith(path)
    assert message.format(last=last) in words
    assert not re.search(":(0|None) ", words)
    assert {result.outcome for result in score.results} == {"error"}


@pytest.mark.parametrize("name", ["missing.py", "", ".", "no/such/folder.py", "nul\0nul.py", "x" * 5000])
def test_a_path_that_leads_nowhere(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    score = judged(name)
    assert score.score == 0
    assert score.sha256 is None
    (words,) = said(score)
    assert "cannot be read" in words or "is not a regular file" in words


def test_a_fifo_does_not_hold_the_judge(tmp_path):
    path = tmp_path / "fifo.py"
    os.mkfifo(path)
    words = {f"{path} is not a regular file. Name the Python file to grade."}
    assert in_a_fork(lambda: said(judged(str(path))) == words)  # which ends there, should it hang


def test_a_link_that_leads_to_itself(tmp_path):
    path = tmp_path / "loop.py"
    path.symlink_to(path)
    assert judged(str(path)).score == 0


@pytest.mark.parametrize("words", [("--submission=",), ("--submission", "missing.py"), ("--submission=.",)])
def test_pytest_says_it_too_and_grades_no_other_file(run, words):
    screen = run(*words)
    assert screen.status == 1
    assert "cannot be read" in screen.text or "is not a regular file" in screen.text
    assert "0 / 100" in screen.text
    assert "student/attention.py:" not in screen.text
    assert "Traceback" not in screen.text


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + REFERENCE.encode(),
        REFERENCE.replace("\n", "\r\n").encode(),
        REFERENCE.replace("\n", "\r").encode(),
        b"# -*- coding: latin-1 -*-\n" + REFERENCE.encode() + "\n# 注意力 é\n".encode(),
        REFERENCE.replace("    ", "\t").encode(),
        REFERENCE.encode().rstrip(),
        ("from __future__ import annotations\n" + REFERENCE.split('"""', 2)[2]).encode(),
        REFERENCE.encode() + b"\n\ndef unfinished(): ...\n\n" + b"# padding\n" * 1000,
    ],
    ids=["BOM", "CRLF", "CR", "coding line", "tabs", "no newline", "future", "long"],
)
def test_odd_but_right_files_have_full_marks(submit, data):
    assert judged(submit(text=data)).score == 100


def test_a_path_with_odd_characters(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in (
        "a b.py",
        "注意.py",
        "[red]x[/red].py",
        "new\nline.py",
        "esc\x1b[31m.py",
        "raw\udcff.py",
        "{x}.py",
    ):
        try:
            (tmp_path / name).write_text(REFERENCE + "\nx = 1 / 0\n", encoding="utf-8")
        except (OSError, UnicodeError):
            continue  # not every file system takes every name
        score = judged(name)
        assert score.score == 0
        json_report.write(score, tmp_path / "report.json", "en")


AT_IMPORT = {
    "raises": ("x = 1 / 0", "Loading your file raised ZeroDivisionError: division by zero"),
    "leaves": ("raise SystemExit(0)", "Loading your file raised SystemExit: 0"),
    "exits": ("import sys; sys.exit('bye')", "Loading your file raised SystemExit: bye"),
    "imports nonsense": ("import no_such_module", "No module named 'no_such_module'"),
    "reads a file": ("open('no_such_file')", "Loading your file raised FileNotFoundError"),
    "recurses": ("def f(): return f()\nf()", "Loading your file raised RecursionError"),
    "asserts": ("assert 1 == 2", "Loading your file raised AssertionError"),
}


@pytest.mark.parametrize("name", AT_IMPORT)
def test_a_file_that_does_not_load_names_the_line(submit, name):
    code, message = AT_IMPORT[name]
    score = judged(submit(code))
    assert score.score == 0
    (words,) = said(score)
    assert message in words
    lines = {result.finding.line for result in score.results}
    last = REFERENCE.count("\n") + 2 + code.count("\n") + 1
    assert lines == {last} or name == "recurses"


def test_input_does_not_wait_for_anyone(run, submit):
    screen = run(f"--submission={submit('name = input()')}")
    assert screen.status == 1
    assert "Loading your file raised OSError" in screen.text


def test_noise_at_import_is_harmless(run, submit):
    noise = "import sys, warnings\nprint('n' * 9999)\nprint('n' * 9999, file=sys.stderr)\n"
    noise += "warnings.warn('w' * 9999)"
    screen = run(f"--submission={submit(noise)}")
    assert screen.status == 0
    assert "nnn" not in screen.text
    assert "www" not in screen.text


def test_warnings_are_kept_from_whoever_grades(submit):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        grade(
            submit(
                "import warnings\nwarnings.warn('at import')", body("causal_mask", "warnings.warn('later')")
            )
        )
    assert not caught


GLOBALS = {
    "default dtype": "torch.set_default_dtype(torch.float64)",
    "grad mode": "torch.set_grad_enabled(False)",
    "inference mode": "torch.inference_mode().__enter__()",
    "default device": "torch.set_default_device('meta')",
    "random seed": "torch.manual_seed(0)",
    "warnings": "import warnings; warnings.simplefilter('error')",
    "print options": "torch.set_printoptions(precision=1, sci_mode=True)",
    "numpy errors": "import numpy; numpy.seterr(all='raise')",
}


@pytest.mark.parametrize("name", GLOBALS)
def test_settings_of_a_submission_do_not_reach_the_judge(submit, name):
    assert in_a_fork(lambda: judged(submit(GLOBALS[name])).score == 100)


@pytest.mark.parametrize("name", ["default dtype", "grad mode", "default device", "warnings"])
def test_nor_those_that_a_call_makes(submit, name):
    code = body("split_heads", f"{GLOBALS[name]}\nreturn super().split_heads(x)")
    assert in_a_fork(
        lambda: {result.check.todo for result in lost(judged(submit(code)))} <= {"head split", None}
    )


def in_a_fork(test: Callable[[], bool]) -> bool:
    """Run a test that may spoil its process for the other tests."""
    pid = os.fork()
    if pid == 0:
        status = 1
        signal.alarm(SECONDS)
        try:
            status = 0 if test() else 2
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_a_missing_name_costs_its_own_checks(submit):
    score = judged(submit("del attention_scores, causal_mask"))
    assert {"Your file has no attention_scores.", "Your file has no causal_mask."} <= said(score)
    assert {result.outcome for result in score.of_todo("head split")} == {"passed"}


@pytest.mark.parametrize(
    "code", ["del MultiHeadAttention", "MultiHeadAttention = None", "MultiHeadAttention = 3"]
)
def test_a_missing_class_costs_what_needs_it(submit, code):
    score = judged(submit(code))
    assert said(score) == {"Your file has no MultiHeadAttention."}
    for todo in ("mask", "scaling"):
        assert {result.outcome for result in score.of_todo(todo)} == {"passed"}


ANSWERS = {  # of attention_scores: body, and what was seen in the first check
    "None": ("pass", "It returned None."),
    "int": ("return 3", "It returned a int, and should return a torch.Tensor."),
    "list": ("return (query @ key.mT).tolist()", "It returned a list of"),
    "numpy": ("return (query @ key.mT).numpy()", "It returned a ndarray"),
    "generator": ("yield query @ key.mT", "It returned a generator"),
    "tuple": ("return query @ key.mT, None", "It returned a tuple of 2"),
    "wrong shape": ("return query", "The shape is (6, 12), and should be (6, 6)."),
    "no dimensions": ("return query.sum()", "The shape is (), and should be (6, 6)."),
    "transposed": ("return key @ query.mT", "The shape is (7, 5), and should be (5, 7)."),
    "integers": ("return (query @ key.mT).long()", "The dtype is torch.int64, and should be a floating"),
    "bools": ("return query @ key.mT > 0", "The dtype is torch.bool, and should be a floating"),
    "complex": ("return (query @ key.mT) + 0j", "The dtype is torch.complex128, and should be a floating"),
    "float8": ("return (query @ key.mT).to(torch.float8_e5m2)", "The dtype is torch.float8_e5m2"),
    "sparse": ("return (query @ key.mT).to_sparse()", "It returned a torch.sparse_coo tensor"),
    "nested": ("return torch.nested.nested_tensor([query[0], key[0]])", "It returned a nested tensor"),
    "quantized": (
        "return torch.quantize_per_tensor(query.float() @ key.float().mT, 1.0, 0, torch.quint8)",
        "It returned a quantized tensor",
    ),
    "subclass": (
        "class Mine(Tensor): pass\nreturn (query @ key.mT).as_subclass(Mine)",
        "It returned a Mine, and should return a torch.Tensor.",
    ),
    "another device": ("return (query @ key.mT).to('meta')", "The result is on the device meta"),
    "huge": ("return torch.zeros(1).expand(10**9, 10**9)", "It returned a tensor of shape (1000000000, 100"),
    "huge in memory": ("return torch.zeros(10**15)", "Your code raised RuntimeError"),
    "raises": ("raise KeyError('where')", "Your code raised KeyError: 'where'"),
    "leaves": ("raise SystemExit", "Your code raised SystemExit"),
    "closes": ("raise GeneratorExit", "Your code raised GeneratorExit"),
    "recurses": ("return attention_scores(query, key)", "Your code raised RecursionError"),
    "raises a class of its own": (
        "class Mine(BaseException): pass\nraise Mine('x')",
        "Your code raised Mine: x",
    ),
    "raises what cannot be said": (
        "class Mute(Exception):\n    def __str__(self): raise ValueError\nraise Mute",
        "Your code raised Mute",
    ),
    "raises what says odd things": (
        "class Odd(str):\n    def startswith(self, *_): raise ValueError\n"
        "class Mute(NotImplementedError):\n    def __str__(self): return Odd('x')\nraise Mute",
        "Your code raised Mute: x",
    ),
    "raises a group": (
        "raise ExceptionGroup('two', [ValueError(), KeyError()])",
        "Your code raised ExceptionGroup",
    ),
    "says a megabyte": ("raise ValueError('long ' * 200_000)", "Your code raised ValueError: long long"),
    "says escape codes": (
        r"raise ValueError('\x1b[2J\x1b[31mred\x07')",
        "Your code raised ValueError: \ufffd[2J",
    ),
    "says markup": (
        "raise ValueError('[bold red]x[/] {y} {0}')",
        "Your code raised ValueError: [bold red]x[/]",
    ),
    "says lines": (r"raise ValueError('one\ntwo\r\nthree')", "Your code raised ValueError: one two three"),
    "says surrogates": (r"raise ValueError('\ud800 \u202e')", "Your code raised ValueError: \ufffd \ufffd"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_a_function_may_answer(only_scaling, submit, name):
    code, message = ANSWERS[name]
    path = submit(body("attention_scores", code))
    score = judged(path)
    first = score.of_todo("scaling")[0]
    assert first.outcome in ("failed", "error")
    assert first.finding.seen.say("en").startswith(message)
    assert len(first.finding.seen.say("en")) < 500
    assert first.finding.line > REFERENCE.count("\n")


@pytest.mark.parametrize("name", ["None", "nested", "leaves", "says a megabyte"])
def test_the_other_checks_go_on(submit, name):
    score = judged(submit(body("attention_scores", ANSWERS[name][0])))
    for todo in ("mask", "head split", "W_O"):
        assert {result.outcome for result in score.of_todo(todo)} == {"passed"}


def test_a_wrong_dtype(submit):
    score = judged(submit(body("attention_scores", "return (query @ key.mT).half()")))
    assert any(words.startswith("The dtype is torch.float16") for words in said(score))


@pytest.mark.parametrize("number", ["torch.nan", "torch.inf"])
@pytest.mark.parametrize("function", ["attention_scores", "attention_weights", "combine_heads"])
def test_nan_and_infinity(submit, function, number):
    right = {
        "attention_scores": "query @ key.mT",
        "attention_weights": "scores",
        "combine_heads": "heads.transpose(1, 2).flatten(-2)",
    }
    score = judged(submit(body(function, f"return torch.full_like({right[function]}, {number})")))
    assert any(words.startswith("NaN or infinity, the first at ") for words in said(score))


@pytest.mark.parametrize(
    "answer", ["None", "3", "output", "(output,)", "(output, weights, 1)", "(weights, output)", "{1: output}"]
)
def test_a_pair_that_is_none(submit, answer):
    code = (
        "weights = attention_weights(attention_scores(query, key), mask)\n"
        f"output = weights @ value\nreturn {answer}"
    )
    score = judged(submit(body("scaled_dot_product_attention", code)))
    assert lost(score)
    assert {result.check.todo for result in lost(score)} == {None}
    assert {result.outcome for result in lost(score)} <= {"failed", "error"}


@pytest.mark.parametrize("answer", ["[output, weights]", "Pair(output, weights)"])
def test_a_pair_of_another_kind_is_right(submit, answer):
    code = (
        "from typing import NamedTuple\n"
        "class Pair(NamedTuple):\n    output: Tensor\n    weights: Tensor\n"
        "weights = attention_weights(attention_scores(query, key), mask)\n"
        f"output = weights @ value\nreturn {answer}"
    )
    assert judged(submit(body("scaled_dot_product_attention", code))).score == 100


SIGNATURES = {
    "def attention_scores(query): return query": "(query)",
    "def attention_scores(query, key, scale): return query": "(query, key, scale)",
    "def attention_scores(*, query, key): return query": "(*, query, key)",
    "def attention_scores(): return 1": "()",
}


@pytest.mark.parametrize("code", SIGNATURES)
def test_a_wrong_signature_is_told(only_scaling, submit, code):
    words = judged(submit(code)).of_todo("scaling")[0].finding.seen.say("en")
    assert words == f"It is called with (query, key), but yours takes {SIGNATURES[code]}."


def test_a_signature_that_cannot_be_printed(only_scaling, submit):
    code = "class Mute:\n    def __repr__(self): raise ValueError\n"
    code += "def attention_scores(query, key, a, b=Mute()): pass"
    assert judged(submit(code)).of_todo("scaling")[0].outcome == "error"


CLASSES = {
    "no module": "class MultiHeadAttention:\n    def __init__(self, d_model, n_heads): pass",
    "no arguments": "class MultiHeadAttention(nn.Module): pass",
    "raises": "class MultiHeadAttention(nn.Module):\n    def __init__(self, a, b): raise OSError('no')",
    "no super().__init__": (
        "class MultiHeadAttention(nn.Module):\n"
        "    def __init__(self, d_model, n_heads): self.W_Q = nn.Linear(d_model, d_model)"
    ),
    "no parameters": "class MultiHeadAttention(nn.Module):\n    def __init__(self, a, b): super().__init__()",
    "a projection is missing": (
        "class MultiHeadAttention(MultiHeadAttention):\n"
        "    def __init__(self, a, b): super().__init__(a, b); del self.W_O"
    ),
    "a projection has another size": (
        "class MultiHeadAttention(MultiHeadAttention):\n"
        "    def __init__(self, a, b): super().__init__(a, b); self.W_O = nn.Linear(a, 2 * a, bias=False)"
    ),
    "a projection vanishes": body("forward", "self.W_Q, both = None, super().forward(x, mask)\nreturn both"),
    "a projection vanishes late": body(
        "forward", "both = super().forward(x, mask)\ndel self.W_Q\nreturn both"
    ),
    "named_parameters is None": (
        "class MultiHeadAttention(MultiHeadAttention):\n    def named_parameters(self, *a, **k): return None"
    ),
    "named_parameters lies": (
        "class MultiHeadAttention(MultiHeadAttention):\n"
        "    def named_parameters(self, *a, **k): return [('W_Q.weight', 3)]"
    ),
    "to raises": (
        "class MultiHeadAttention(MultiHeadAttention):\n    def to(self, *a, **k): raise OSError('stay')"
    ),
    "a function": "def MultiHeadAttention(d_model, n_heads): return nn.Linear(d_model, d_model)",
}


@pytest.mark.parametrize("name", CLASSES)
def test_what_a_class_may_be(submit, name):
    score = judged(submit(CLASSES[name]))
    assert 0 < score.score < 100
    for todo in ("mask", "scaling"):
        assert {result.outcome for result in score.of_todo(todo)} == {"passed"}


@pytest.mark.parametrize(
    "code",
    [
        "query.data = torch.zeros(3)",
        "query.data = query.data.half()",
        "query.zero_()",
        "key.resize_(0)",
        "query.set_(torch.zeros(10**6).storage())",
    ],
)
def test_an_argument_that_is_spoilt(only_scaling, submit, code):
    code = (
        f"scores = query @ key.mT / query.shape[-1] ** 0.5\nwith torch.no_grad():\n    {code}\nreturn scores"
    )
    assert lost(judged(submit(body("attention_scores", code))))
