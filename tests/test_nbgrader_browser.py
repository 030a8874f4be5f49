"""formgrader and JupyterLab in a real browser (Chromium, from $CHROMIUM or the PATH)."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import chromium_page, picture
from conftest import REFERENCE
from nbgrader_course import Course, make_course
from nbgrader_hostile import SCRIPT, cell, edit
from playwright.sync_api import Locator, Page, expect

from grader.nbgrader_plugin.assignments import LANGUAGE

TOKEN = "a-token-for-a-test"
LONG = 300_000  # milliseconds: this machine may be busy
ANSWER = f"Variance. {SCRIPT} <img src=x onerror=alert('student')> [x](javascript:alert('student'))"
SHOWN = {  # by the id of a cell, in the order in which they run
    "check-scaling": "attention_scores()",
    "your-heads": "TODO 3",
    "run-checks": "0 / 100",
    "tier-shape": "0 / 15",
    "tier-gradient-flow": "0 / 20",
}
ROUTES = ("play-rnn", "play-fully-connected", "play-attention")
SETTINGS = {  # of JupyterLab
    "notebook-extension/tracker": {"windowingMode": "none"},  # cells out of sight are in the page, too
    "apputils-extension/notification": {"fetchNews": "false"},  # no question lies over the pictures
}
WRONG = REFERENCE.replace("math.sqrt(d_k)", "d_k")


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """A course with a submission that waits for autograding, and something odd in it."""
    made = make_course(tmp_path_factory.mktemp("browser"))
    for assignment in LANGUAGE:
        made.nbgrader("generate_assignment", assignment)
    folder = made.place("alice", WRONG)
    edit(folder, _answer)
    made.place("bob", None)
    made.python_m("grader", "prepare", "--course", "assignments", cwd=made.repository)
    return made


def _answer(data: dict) -> None:
    cell(data, "reflection").update(source=ANSWER)
    cell(data, "quiz-d-head").update(source="Answer: 64")
    cell(data, "quiz-score").update(source=f"Answer: 3 {SCRIPT}")


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """A Jupyter server in a folder; its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}"]
    command += [f"--IdentityProvider.token={TOKEN}", "--ServerApp.port_retries=0", "--ServerApp.ip=127.0.0.1"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JUPYTER")}
    environment |= {"HOME": str(folder.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    log = folder.parent / "server.log"
    with open(log, "w") as stream:
        server = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=stream, stderr=stream, stdin=subprocess.DEVNULL
        )
    try:
        _wait_for(f"http://127.0.0.1:{port}/api", server, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(30)


def _wait_for(address: str, server: subprocess.Popen, log: Path) -> None:
    for _ in range(600):
        if server.poll() is not None:
            break
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            urllib.request.urlopen(address, timeout=5)
            return
        time.sleep(0.2)
    pytest.fail(f"the server did not start:\n{log.read_text()[-3000:]}")


@pytest.fixture
def page() -> Iterator[Page]:
    with chromium_page(viewport={"width": 1280, "height": 1400}) as page:
        page.set_default_timeout(LONG)
        yield page


def _picture(page: Page, name: str) -> None:
    picture(page, name, full_page=name == "submission")


def test_formgrader(course: Course, page: Page):
    with served(course.root) as address:
        page.goto(f"{address}/formgrader/manage_assignments?token={TOKEN}")
        page.get_by_role("link", name="attention", exact=True).first.wait_for()
        _picture(page, "assignments")

        page.goto(f"{address}/formgrader/manage_submissions/attention")
        for student in ("alice", "bob"):
            row = page.locator("tr", has_text=student)
            row.locator(".autograde a").click()
            page.get_by_text("Successfully autograded").or_(page.get_by_text("Error")).first.wait_for()
            _picture(page, f"autograded-{student}")
            assert page.get_by_text("Successfully autograded").count()
            page.get_by_role("button", name="OK").click()
            page.locator(".modal-backdrop").wait_for(state="detached")
        assert 0 < course.tiers("alice") < 100
        assert course.tiers("bob") == 0

        page.goto(f"{address}/formgrader/gradebook/attention/attention")
        page.locator("td a", has_text="Submission").first.wait_for()
        _picture(page, "submissions")
        for student, words in (("alice", "divided by d_k"), ("bob", "Nothing could be graded")):
            page.goto(f"{address}/formgrader/submissions/{_submission(course, student)}")
            page.get_by_text("Official score").wait_for()
            page.get_by_text(words).first.wait_for()
        page.goto(f"{address}/formgrader/submissions/{_submission(course, 'alice')}")
        page.locator("#reflection").first.wait_for()
        page.get_by_text("Right: 64.").wait_for()
        page.get_by_text("This could not be read").wait_for()
        page.locator("input.score").last.fill("7.5")
        page.locator("input.score").last.press("Tab")
        page.locator("#reflection-saved:visible, .score-saved:visible").first.wait_for()
        _picture(page, "submission")
    with course.gradebook() as gradebook:
        assert gradebook.find_grade("reflection", "attention", "attention", "alice").manual_score == 7.5


def _submission(course: Course, student: str) -> str:
    with course.gradebook() as gradebook:
        return gradebook.find_submission_notebook("attention", "attention", student).id


@pytest.mark.parametrize("assignment", LANGUAGE)
def test_the_released_lesson_in_jupyterlab(assignment: str, course: Course, page: Page, tmp_path: Path):
    copy = tmp_path / assignment
    shutil.copytree(course.root / "release" / assignment, copy)
    ids = [cell["id"] for cell in json.loads((copy / f"{assignment}.ipynb").read_text("utf-8"))["cells"]]
    for name, setting in SETTINGS.items():
        file = tmp_path / ".jupyter/lab/user-settings/@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(setting))
    with served(copy) as address:
        page.goto(f"{address}/lab/tree/{assignment}.ipynb?token={TOKEN}")
        page.locator(".jp-NotebookPanel .jp-Cell").first.wait_for()
        page.get_by_text("| Idle").wait_for()  # cells that are run before are forgotten
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        cells = {
            name: page.locator(f'.jp-Cell[data-windowed-list-index="{i}"]') for i, name in enumerate(ids)
        }
        for name, words in SHOWN.items():
            cells[name].get_by_text(words).first.wait_for()
        for name in ROUTES:
            _play(cells[name])
        for name in ids:
            _look(cells[name], f"{assignment}-{name}")
        assert page.locator(".jp-Cell .MathJax, .jp-Cell mjx-container").count() > 20


def _play(cell: Locator) -> None:
    """Choose another sentence, and see its pictures change by themselves."""
    cell.locator("input[type=radio]").nth(1).check()
    scenes = cell.locator(".scene")
    assert [scene.is_visible() for scene in scenes.all()] == [False, True, False]
    image = scenes.nth(1).locator("img")
    first = image.get_attribute("src")
    scenes.nth(1).locator(".anim-buttons button").nth(3).click()
    expect(image).not_to_have_attribute("src", first)


def _look(cell: Locator, name: str) -> None:
    folder = os.environ.get("SCREENSHOTS")
    if folder:
        cell.scroll_into_view_if_needed()
        cell.screenshot(path=Path(folder) / f"{name}.png")
