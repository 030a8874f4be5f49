"""python -m grader doctor: can grading be trusted on this machine? Answers of yes or no, with reasons."""

import argparse
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from grader.judge.score import MAX_SCORE, TIERS, Score
from grader.nbgrader_plugin.assignments import EXERCISE, LANGUAGE, notebook_of
from grader.stub import ROOT, SOLUTION, STUDENT, stub_of

COURSE = ROOT / "assignments"
_PIN = re.compile(r"^([\w-]+)==([\w.]+)", flags=re.MULTILINE)


class Wrong(Exception):
    """The answer is no; str() says why, and what to do."""


def add_arguments(_: argparse.ArgumentParser) -> None:
    """The command takes none."""


def run(_: argparse.Namespace) -> int:
    """Answer every question; 0 if all answers are yes."""
    wrong = 0
    for question, answer in QUESTIONS.items():
        try:
            print(f"yes  {question}: {answer()}", flush=True)
        except Wrong as reason:
            wrong += 1
            print(f"NO   {question}: {reason}", flush=True)
        except Exception as error:  # a question that cannot be answered is not answered with yes
            wrong += 1
            print(f"NO   {question}: {type(error).__name__}: {error}", flush=True)
    print(f"\nNo: {wrong} of {len(QUESTIONS)}." if wrong else "\nYes, grading can be trusted here.")
    return 1 if wrong else 0


def versions() -> str:
    """The releases that everything was tested with."""
    pinned = {
        name: number
        for file in (ROOT / "requirements.txt", COURSE / "requirements.txt")
        for name, number in _PIN.findall(file.read_text(encoding="utf-8"))
    }
    found = {name: _version(name) for name in pinned}
    off = [f"{name} is {found[name]}, not {pinned[name]}" for name in pinned if found[name] != pinned[name]]
    if off:
        raise Wrong(f"{'; '.join(off)}. Run pip install -r assignments/requirements.txt.")
    return ", ".join([f"Python {sys.version.split()[0]}", *(f"{name} {found[name]}" for name in found)])


def points() -> str:
    """The points of the tiers, in the grader and in the notebooks."""
    if MAX_SCORE != 100:
        raise Wrong(f"the tiers have {MAX_SCORE:g} points in all")
    expected = {f"tier-{tier.id}": tier.points for tier in TIERS}
    for name in LANGUAGE:
        notebook = json.loads((COURSE / "source" / name / notebook_of(name)).read_text(encoding="utf-8"))
        cells = [cell["metadata"]["nbgrader"] for cell in notebook["cells"]]
        given = {cell["grade_id"]: cell["points"] for cell in cells if cell["grade"] and not cell["solution"]}
        if given != expected:
            raise Wrong(f"{notebook_of(name)} gives {given}, the grader {expected}")
    return " + ".join(f"{tier.points:g}" for tier in TIERS) + f" = {MAX_SCORE:g}"


def stub() -> str:
    """student/attention.py is the solution with its regions cut out."""
    if STUDENT.read_text(encoding="utf-8") != stub_of(SOLUTION.read_text(encoding="utf-8")):
        raise Wrong("student/attention.py is not what solutions/attention.py gives: python -m grader stub")
    return "student/attention.py is solutions/attention.py without its solutions"


def isolation() -> str:
    """Whether submissions can be locked in here."""
    from grader.isolation.launcher import IsolationError, Launcher

    try:
        with Launcher("sandbox") as launcher:
            missing = "".join(f"; without {name}: {why}" for name, why in launcher.missing.items())
            return f"{', '.join(launcher.layers)}{missing}"
    except IsolationError as error:
        raise Wrong(str(error)) from None


def stub_score() -> str:
    """An untouched exercise."""
    return _scores(STUDENT, 0.0)


def reference_score() -> str:
    """The reference."""
    return _scores(SOLUTION, MAX_SCORE)


def _scores(file: Path, expected: float) -> str:
    score = _official(file)
    if score.score != expected or not score.complete:
        lost = [result.check.id for result in score.results if result.outcome != "passed"]
        raise Wrong(f"{file.relative_to(ROOT)} scores {score.score}, not {expected:g}: {', '.join(lost[:5])}")
    hidden = sum(check.visibility == "hidden" for check in score.expected)
    return f"{score.score:g} of {MAX_SCORE:g}, {len(score.expected)} checks, {hidden} of them hidden"


def _official(file: Path) -> Score:
    import torch

    from grader.isolation.launcher import Launcher
    from grader.isolation.submission import WorkerSubmission
    from grader.run import grade

    torch.set_num_threads(1)
    with Launcher() as launcher:  # that it is a full sandbox is another question
        open_submission = functools.partial(WorkerSubmission, launcher)
        return grade(str(file), "doctor", open_submission, True, launcher.isolation)


def release() -> str:
    """The releases, made by nbgrader itself in a temporary folder, and looked through."""
    if _version("nbgrader") is None:
        raise Wrong("nbgrader is not installed: pip install -r assignments/requirements.txt")
    with tempfile.TemporaryDirectory(prefix="attention-doctor-") as name:
        course = Path(name)
        shutil.copytree(COURSE / "source", course / "source")
        numbers = [_release(course, assignment) for assignment in LANGUAGE]
    files = " and ".join(f"{number} files ({name})" for name, number in zip(LANGUAGE, numbers, strict=True))
    return f"{files}, nothing of the instructor's among them, and pytest grader runs in them"


def _release(course: Path, assignment: str) -> int:
    """Make one, and look through it. -> how many files it has"""
    from grader.nbgrader_plugin.kit import kit, secrets_in

    _run(["nbgrader", "generate_assignment", assignment, f"--CourseDirectory.root={course}"], course)
    made = course / "release" / assignment
    files = {f.relative_to(made).as_posix(): f.read_bytes() for f in made.rglob("*") if f.is_file()}
    missing = {*kit(LANGUAGE[assignment]), notebook_of(assignment)} ^ set(files)
    secrets = secrets_in(files)
    if missing or secrets:
        raise Wrong("; ".join([*secrets, *(f"{path}: missing, or too much" for path in sorted(missing))]))
    if files[EXERCISE].decode() != stub_of(SOLUTION.read_text(encoding="utf-8")):
        raise Wrong(f"{EXERCISE} in it is not the exercise")
    _run(["pytest", "grader", "-q", "-p", "no:cacheprovider"], made, status=1)
    score = json.loads((made / "report" / "report.json").read_text(encoding="utf-8"))["score"]
    if score != 0:
        raise Wrong(f"pytest grader in it gives {score}, not 0")
    return len(files)


def _run(words: list[str], folder: Path, status: int = 0) -> None:
    environment = os.environ | {"JUPYTER_CONFIG_PATH": str(COURSE), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("PYTEST_ADDOPTS", None)
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, env=environment, capture_output=True, text=True
    )
    if done.returncode != status:
        raise Wrong(f"{words[0]} ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-600:]}")


def _version(package: str) -> str | None:
    try:
        return version(package).split("+")[0]  # torch adds how it was built
    except PackageNotFoundError:
        return None


QUESTIONS: dict[str, Callable[[], str]] = {
    "the releases that it was tested with": versions,
    "the points add up": points,
    "exercise and reference agree": stub,
    "submissions are locked in": isolation,
    "an untouched exercise earns nothing": stub_score,
    "the reference earns everything": reference_score,
    "a release tells no secret": release,
}
