"""The lesson's script: what a student sees for right, empty, wrong and broken code."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grader.stub import ROOT, SOLUTION, stub_of
from student import attention_from_scratch as script

REFERENCE = SOLUTION.read_text(encoding="utf-8")


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run the script in this process on a text, or on a path; returns exit code and output."""
    monkeypatch.setattr(script, "HEATMAP", tmp_path / "heatmap.png")
    monkeypatch.setenv("COLUMNS", "200")  # no line of the output is broken in two
    monkeypatch.chdir(tmp_path)

    def run(submission: str | Path) -> tuple[int, str]:
        if isinstance(submission, str):
            Path("mine.py").write_text(submission, encoding="utf-8")
            submission = Path("mine.py")
        code = script.main(["--submission", str(submission)])
        output = capsys.readouterr()
        assert "Traceback" not in output.out + output.err
        return code, output.out

    return run


def changed(*edits: tuple[str, str]) -> str:
    """The reference with passages replaced."""
    text = REFERENCE
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    return text


def row(output: str, *words: str) -> str:
    """The one line of the output that has all the words, with single spaces."""
    (line,) = [line for line in output.splitlines() if all(word in line for word in words)]
    return " ".join(line.split())


def verdicts(output: str, dtype: str) -> list[str]:
    """The verdicts in float64 or float32: single head causal and not, then multi-head."""
    return [line.split()[-2] for line in output.splitlines() if line.startswith(f" {dtype} ")]


def test_as_a_student_runs_it(tmp_path):
    """A copy of student/ with the solution filled in, from another directory, with no screen: all green."""
    kit = shutil.copytree(ROOT / "student", tmp_path / "kit" / "student")
    (kit / "attention_heatmap.png").unlink(missing_ok=True)
    shutil.copy(SOLUTION, kit / "attention.py")
    hidden = {"MPLBACKEND", "DISPLAY", "WAYLAND_DISPLAY"}
    env = {name: value for name, value in os.environ.items() if name not in hidden}
    env |= {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-W", "error::UserWarning", kit / "attention_from_scratch.py"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, encoding="utf-8")

    assert (done.returncode, done.stderr) == (0, "")  # matplotlib warns of a missing glyph: an error here
    assert done.stdout.count("PASS") == 8
    assert "FAIL" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert (kit / "attention_heatmap.png").read_bytes().startswith(b"\x89PNG")


def test_shape_flow_of_the_reference(run):
    code, output = run(REFERENCE)
    assert code == 0
    flow = output[: output.index("Weights of")].splitlines()
    flow = [" ".join(line.split()) for line in flow if "(" in line]
    assert [line.split()[0] for line in flow if line[0] != "("] == [
        "causal_mask", "forward", "W_Q", "split_heads", "W_K", "split_heads", "W_V", "split_heads",
        "scaled_dot_product_attention", "attention_scores", "attention_weights", "combine_heads", "W_O",
    ]  # fmt: skip
    assert "attention_scores 2 x (1, 8, 7, 64) (1, 8, 7, 7)" in flow
    assert "combine_heads (1, 8, 7, 64) (1, 7, 512)" in flow
    assert row(output, "Weights of token 3").endswith(" 0 0 0 0")


def test_shape_flow_of_another_forward(run):
    """What is printed is what was called: here no split_heads, and a layer of the student's own."""
    start = REFERENCE.index("        query = self.split_heads")
    forward = """\
        query, key, value = (
            layer(x).view(*x.shape[:2], self.n_heads, self.d_head).transpose(1, 2)
            for layer in (self.W_Q, self.W_K, self.W_V)
        )
        scores = attention_scores(query, key)
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = nn.Softmax(dim=-1)(scores)
        return self.W_O((weights @ value).transpose(1, 2).flatten(2)), weights
"""
    code, output = run(REFERENCE[:start] + forward)
    assert code == 0
    flow = output[: output.index("Weights of")]
    assert "split_heads" not in flow
    assert row(flow, "Softmax") == "Softmax (1, 8, 7, 7) (1, 8, 7, 7)"


def test_empty_exercise(run):
    code, output = run(stub_of(REFERENCE))
    assert code == 1
    for todo in ("TODO 1 (mask)", "TODO 2 (scaling)", "TODO 3 (head split)", "TODO 4 (W_O)"):
        assert f"{todo} is not filled in yet: " in output
    assert "PASS" not in output
    assert "FAIL" not in output
    assert "C  Heat map\nTODO 1 (mask) is not filled in yet\n" in output


def test_half_filled_exercise(run, tmp_path):
    """With the heads still to do, single-head attention is checked and drawn all the same."""
    stub, start = stub_of(REFERENCE), "class MultiHeadAttention"
    code, output = run(REFERENCE[: REFERENCE.index(start)] + stub[stub.index(start) :])
    assert code == 1
    assert "TODO 1" not in output
    assert output.count("PASS") == 4
    assert "multi head, causal: TODO 3 (head split) is not filled in yet" in output
    assert (tmp_path / "heatmap.png").exists()


def test_no_scaling(run, tmp_path):
    """Wrong everywhere: every line is a FAIL with its numbers, and the picture is still drawn."""
    code, output = run(changed((" / math.sqrt(d_k)", "")))
    assert code == 1
    assert output.count("FAIL") == 8
    to_loop, to_torch = row(output, "float64", "single head, causal").split()[-5:-3]
    assert to_loop == to_torch
    assert float(to_loop) > 1e-3
    assert (tmp_path / "heatmap.png").exists()


def test_float32_inside(run):
    """Right at 1e-6, wrong at 1e-16."""
    edit = ("torch.softmax(scores, dim=-1)", "torch.softmax(scores.float(), dim=-1).to(scores.dtype)")
    code, output = run(changed(edit))
    assert code == 1
    assert verdicts(output, "float64") == ["FAIL"] * 4
    assert verdicts(output, "float32") == ["PASS"] * 4


def test_mask_upside_down(run):
    """NaN comes out, in B and in C: both say so."""
    code, output = run(changed((".tril()", ".triu(1)")))
    assert code == 1
    assert output.count("FAIL") == 4
    assert output.count("NaN or infinity") == 3


def test_body_that_crashes(run, tmp_path):
    """The line is named, the flow is shown up to it, and the other parts go on."""
    edit = ("x = x.unflatten(-1, (self.n_heads, self.d_head))", "x = x.reshape(2, -1, 5)")
    text = changed(edit)
    line = text[: text.index(edit[1])].count("\n") + 1
    code, output = run(text)
    assert code == 1
    assert f"\nmine.py:{line}: Your code raised RuntimeError: " in output
    assert row(output, "W_Q") == "W_Q (1, 7, 512) (1, 7, 512)"
    assert output.count("PASS") == 4
    assert (tmp_path / "heatmap.png").exists()


def test_torchs_own_attention(run):
    """It agrees with torch, of course: that is no green."""
    start, end = REFERENCE.index("    weights = attention_weights("), REFERENCE.index("class MultiHead")
    body = "    weights = attention_weights(attention_scores(query, key), mask)\n"
    body += "    return nn.functional.scaled_dot_product_attention(query, key, value, mask), weights\n\n\n"
    code, output = run(REFERENCE[:start] + body + REFERENCE[end:])
    assert code == 1
    assert "PASS" not in output


def test_files_that_do_not_load(run):
    """One plain line each."""
    broken = changed(("import math\n", "import math math\n"))
    for submission, says in (
        (Path("nowhere.py"), "nowhere.py"),
        (broken, "mine.py:22"),
        (
            changed(("import math\n", "import maths\n")),
            "mine.py:22: Loading your file raised ModuleNotFoundError",
        ),
    ):
        code, output = run(submission)
        assert code == 1
        assert output.startswith(says)
        assert output.count("\n") == 1
