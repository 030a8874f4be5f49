"""Draws the pictures of the README: python tests/readme_pictures.py"""

import contextlib
import io
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / ".github" / "pictures"
sys.path[:0] = [str(ROOT), str(ROOT / "student"), str(ROOT / "tests")]

from dataclasses import replace  # noqa: E402

import attention_from_scratch as script  # noqa: E402
from browser import chromium_page  # noqa: E402
from corpus import source_of, wrong_cases  # noqa: E402
from PIL import Image  # noqa: E402
from playwright.sync_api import Page  # noqa: E402
from report_scores import class_of, score_of  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.terminal_theme import MONOKAI  # noqa: E402

from grader.judge.local import LocalSubmission  # noqa: E402
from grader.judge.source import read_source  # noqa: E402
from grader.judge.submission import Student  # noqa: E402
from grader.reports import class_page, html_report, terminal  # noqa: E402
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
    terminal.show(score, console, "en", "report/report.html")
    svg = console.export_svg(title="pytest grader", theme=MONOKAI, unique_id="report")
    (PICTURES / "report.svg").write_text(svg, encoding="utf-8")


def draw_heatmap() -> None:
    """The lesson's heat map, on the reference."""
    script.HEATMAP = PICTURES / "heatmap.png"
    student = Student(LocalSubmission(read_source(SOLUTION)), refusal=None, from_scratch=True)
    script.heat_map(student, str(SOLUTION), Console(file=io.StringIO()))


def draw_pages() -> None:
    """report.html of a submission with two mistakes, and class.html of a class."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        score = replace(score_of(folder, "62"), path=str(STUDENT.relative_to(ROOT)))
        cases = {case.name: score_of(folder, source_of(case)) for case in wrong_cases()[::29]}
        summary = class_of({**cases, "100": score_of(folder, "100")}, 120)
        with chromium_page() as browser:
            for name, html, width, start in (
                ("report-page", html_report.as_html(score, "en"), 960, "h-pictures"),
                ("class-page", class_page.as_html(summary, "en"), 1200, None),
            ):
                page = Path(folder) / f"{name}.html"
                page.write_text(html, encoding="utf-8")
                browser.set_viewport_size({"width": width, "height": 1000})
                browser.goto(f"{page.as_uri()}#{start or ''}")
                _take(browser, PICTURES / f"{name}.png")


def _take(page: Page, file: Path) -> None:
    page.screenshot(path=file)
    few = Image.open(file).convert("P", palette=Image.Palette.ADAPTIVE, colors=192)  # half the size
    few.save(file, optimize=True)


if __name__ == "__main__":
    PICTURES.mkdir(parents=True, exist_ok=True)
    draw_report()
    draw_heatmap()
    draw_pages()
