"""What a student sees: one screen of 80 x 40, in either language, whatever the one mistake is."""

import re

import pytest
from conftest import REFERENCE, Screen, body, terminal_run
from rich.cells import cell_len

from grader.stub import ROOT, STUDENT

ROWS, COLUMNS = 40, 80
PROMPT = 1  # the line below that the shell needs
SINGLE = {
    "transposed mask": body("causal_mask", "return torch.ones(length, length, dtype=torch.bool).triu()"),
    "float mask": body("causal_mask", "return torch.ones(length, length, device=device).tril()"),
    "no scale": body("attention_scores", "return query @ key.mT"),
    "weak fill": body(
        "attention_weights",
        "scores = scores if mask is None else scores.masked_fill(~mask, -20)\nreturn scores.softmax(-1)",
    ),
    "masked too late": body(
        "attention_weights",
        "weights = scores.softmax(-1)\nreturn weights if mask is None else weights * mask",
    ),
    "view for transpose": body("split_heads", "return x.view(len(x), self.n_heads, -1, self.d_head)"),
    "bare reshape": body("combine_heads", "return self.W_O(heads.reshape(len(heads), heads.shape[2], -1))"),
    "a typing error": body("combine_heads", "return self.W_O(heads.transposed(1, 2))"),
    "a long message": body("split_heads", "raise ValueError('a very long word ' * 100 + 'x' * 10_000)"),
    "library": body(
        "scaled_dot_product_attention",
        "import torch.nn.functional as F\n"
        "weights = attention_weights(attention_scores(query, key), mask)\n"
        "return F.scaled_dot_product_attention(query, key, value, mask), weights",
    ),
    "given body broken": body(
        "forward", "output, weights = super().forward(x, mask)\nreturn output, weights.mT"
    ),
    "raises at import": "x = 1 / 0",
    "syntax error": "def f(:",
    "empty": None,
}


def fits(screen: Screen) -> bool:
    """Insist on one screen without a traceback."""
    assert len("\n".join(screen.lines).rstrip().splitlines()) <= ROWS - PROMPT, screen.text
    assert max(cell_len(line) for line in screen.lines) <= COLUMNS
    assert "Traceback" not in screen.text
    assert not re.search(r"^E  |^grader/\S+:\d+:|<Result|object at 0x", screen.text, flags=re.MULTILINE)
    return True


@pytest.fixture
def screen_of(tmp_path):
    """`pytest grader` in a clone where the student's file has this text."""
    for name in ("grader", "pyproject.toml"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "student").mkdir()

    def screen_of(text: str, *words: str) -> Screen:
        (tmp_path / "student" / "attention.py").write_text(text, encoding="utf-8")
        return terminal_run("grader", *words, cwd=tmp_path, rows=ROWS, columns=COLUMNS)

    return screen_of


@pytest.mark.parametrize(
    ("name", "lang"), [(name, "en") for name in SINGLE] + [(name, "zh") for name in list(SINGLE)[::3]]
)
def test_a_single_mistake(screen_of, name, lang):
    code = SINGLE[name]
    screen = screen_of("" if code is None else f"{REFERENCE}\n\n{code}", f"--lang={lang}")
    assert fits(screen)
    assert screen.status == 1
    assert ("Fix this first" if lang == "en" else "先改这里") in screen.text
    assert "student/attention.py" in screen.text


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_untouched_stub(screen_of, lang):
    screen = screen_of(STUDENT.read_text(encoding="utf-8"), f"--lang={lang}")
    assert fits(screen)
    assert screen.status == 1
    assert re.search(r" 0 / 100$", screen.text, flags=re.MULTILINE)
    for todo in range(1, 5):
        assert f"… TODO {todo}" in screen.text


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_full_marks(screen_of, lang):
    screen = screen_of(REFERENCE, f"--lang={lang}")
    assert fits(screen)
    assert screen.status == 0
    assert re.search(r" 100 / 100$", screen.text, flags=re.MULTILINE)
    for todo in range(1, 5):
        assert f"✓ TODO {todo}" in screen.text


@pytest.mark.parametrize("columns", [40, 60, 200])
def test_other_widths(run, submit, columns):
    screen = run(f"--submission={submit(SINGLE['no scale'])}", columns=columns)
    report = screen.lines[next(n for n, line in enumerate(screen.lines) if "─────" in line) :]
    ours = [line for line in report if not line.startswith(("=", "Report: "))]
    assert max(cell_len(line) for line in ours) <= min(columns, COLUMNS)


def test_a_long_path_stays_a_word_that_can_be_copied(tmp_path):
    folder = tmp_path / ("a-long-name-" * 10)
    screen = terminal_run("grader", "--submission=solutions/attention.py", f"--report-dir={folder}")
    assert f"{folder.name}/report.html" in screen.text
