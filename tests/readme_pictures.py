"""Draws the pictures of the README: python tests/readme_pictures.py"""

import io
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / ".github" / "pictures"
sys.path[:0] = [str(ROOT), str(ROOT / "student")]

from dataclasses import replace  # noqa: E402

import attention_from_scratch as script  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.terminal_theme import MONOKAI  # noqa: E402

from grader.judge.local import LocalSubmission  # noqa: E402
from grader.judge.source import read_source  # noqa: E402
from grader.judge.submission import Student  # noqa: E402
from grader.reports import terminal  # noqa: E402
from grader.run import grade  # noqa: E402
from grader.stub import SOLUTION, STUDENT  # noqa: E402

RIGHT = "return query @ key.transpose(-2, -1) / math.sqrt(d_k)"
WRONG = "return query @ key.transpose(-2, -1) / math.sqrt(query.shape[-2])"


def draw_report() -> None:
    """The terminal report on a submission that scales by the wrong size."""
    solution = SOLUTION.read_text(encoding="utf-8")
    if RIGHT not in solution:
        raise SystemExit(f"{SOLUTION} has no line: {RIGHT}")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "attention.py"
        file.write_text(solution.replace(RIGHT, WRONG), encoding="utf-8")
        score = replace(grade(str(file)), path=str(STUDENT.relative_to(ROOT)))
    console = Console(record=True, width=80, force_terminal=True, file=io.StringIO(), highlight=False)
    terminal.show(score, console, "en", "report/report.json")
    svg = console.export_svg(title="pytest grader", theme=MONOKAI, unique_id="report")
    (PICTURES / "report.svg").write_text(svg, encoding="utf-8")


def draw_heatmap() -> None:
    """The lesson's heat map, on the reference."""
    script.HEATMAP = PICTURES / "heatmap.png"
    student = Student(LocalSubmission(read_source(SOLUTION)), refusal=None, from_scratch=True)
    script.heat_map(student, str(SOLUTION), Console(file=io.StringIO()))


if __name__ == "__main__":
    PICTURES.mkdir(parents=True, exist_ok=True)
    draw_report()
    draw_heatmap()
