"""formgrader and JupyterLab in a real browser (Chromium, from $CHROMIUM or the PATH)."""

import contextlib
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
from conftest import REFERENCE
from nbgrader_course import Course, make_course
from nbgrader_hostile import SCRIPT, edit
from playwright.sync_api import Page, sync_playwright

TOKEN = "a-token-for-a-test"
LONG = 300_000  # milliseconds: this machine may be busy
ANSWER = f"Variance. {SCRIPT} <img src=x onerror=alert('student')> [x](javascript:alert('student'))"
SHOWN = {2: "Fix this first", 4: "causal_mask()", 9: "0 of 15 points", 13: "0 of 20 points"}  # by cell
WRONG = REFERENCE.replace("math.sqrt(d_k)", "d_k")


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """A course with a submission that waits for autograding, and something odd in it."""
    made = make_course(tmp_path_factory.mktemp("browser"))
    made.nbgrader("generate_assignment", "attention")
    folder = made.place("alice", WRONG)
    edit(folder, lambda data: data["cells"][-1].update(source=ANSWER))
    made.place("bob", None)
    made.python_m("grader", "prepare", "--course", "assignments", cwd=made.repository)
    return made


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
    """A page of a browser that nothing has made say anything: a script that ran would open a dialog."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if not chromium:
        reason = "needs Chromium (Debian: apt-get install chromium)"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 1400})
        page.set_default_timeout(LONG)
        said = []
        page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
        yield page
        browser.close()
        assert said == []


def _picture(page: Page, name: str) -> None:
    folder = os.environ.get("SCREENSHOTS")  # for people to look at
    if folder:
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=name == "submission")


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
        page.locator("input.score").last.fill("7.5")
        page.locator("input.score").last.press("Tab")
        page.locator("#reflection-saved:visible, .score-saved:visible").first.wait_for()
        _picture(page, "submission")
    with course.gradebook() as gradebook:
        assert gradebook.find_grade("reflection", "attention", "attention", "alice").manual_score == 7.5


def _submission(course: Course, student: str) -> str:
    with course.gradebook() as gradebook:
        return gradebook.find_submission_notebook("attention", "attention", student).id


def test_the_released_notebook_in_jupyterlab(course: Course, page: Page, tmp_path: Path):
    copy = tmp_path / "attention"
    shutil.copytree(course.root / "release" / "attention", copy)
    settings = tmp_path / ".jupyter/lab/user-settings/@jupyterlab/notebook-extension"
    settings.mkdir(parents=True)  # keep all cells in the page, also those out of sight
    (settings / "tracker.jupyterlab-settings").write_text('{"windowingMode": "none"}')
    with served(copy) as address:
        page.goto(f"{address}/lab/tree/attention.ipynb?token={TOKEN}")
        page.locator(".jp-NotebookPanel .jp-Cell").first.wait_for()
        page.get_by_text("| Idle").wait_for()  # cells that are run before are forgotten
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        for cell, words in SHOWN.items():
            page.locator(f'.jp-Cell[data-windowed-list-index="{cell}"]', has_text=words).wait_for()
        _picture(page, "jupyterlab")
