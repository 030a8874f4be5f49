"""pytest glue: fixtures for the checks, and hooks that turn outcomes into a score report."""

import os
import platform
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch
from rich.console import Console

from grader import manifest
from grader.judge.call import StudentError
from grader.judge.draw import Draw
from grader.judge.exercise import TODO_BY_NAME, section_of
from grader.judge.expect import CheckFailed, Expect
from grader.judge.local import LocalSubmission
from grader.judge.score import GATED, Check, Finding, Result, Score
from grader.judge.scratch import ready_made_attention
from grader.judge.source import Source, SourceError, read_source
from grader.judge.submission import Student
from grader.judge.text import Text, text
from grader.pytest_options import SUBMISSION
from grader.reports import json_report, terminal

TIER_OF_MODULE = {f"grader.{tier.module}": tier.id for tier in manifest.TIERS}


@dataclass
class Run:
    """One run of the checks on one submission."""

    path: str
    report: Path
    source: Source | None = None
    submission: LocalSubmission | None = None
    problem: Text | None = None  # why there is nothing to grade
    results: list[Result] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)


RUN = pytest.StashKey[Run]()
SCORE = pytest.StashKey[Score]()


def pytest_configure(config: pytest.Config) -> None:
    """Read the submission, and keep the screen for the report unless -v or --tb asks for more."""
    for todo in TODO_BY_NAME.values():
        config.addinivalue_line("markers", f"{todo.marker}: checks of TODO {todo.number} ({todo.name})")
    config.addinivalue_line("markers", "weight(n): what a check counts within its tier (default: 1)")
    if config.option.verbose == 0:
        config.option.no_header = True
        config.option.disable_warnings = True
        config.option.reportchars = ""
        if config.option.tbstyle == "auto":
            config.option.tbstyle = "no"
    torch.set_num_threads(1)
    config.stash[RUN] = _start(config)


def _start(config: pytest.Config) -> Run:
    path = config.getoption("--submission")
    path = config.invocation_params.dir / path if path else config.rootpath / SUBMISSION
    folder = config.getoption("--report-dir")
    folder = config.invocation_params.dir / folder if folder else config.rootpath / "report"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "report.json").unlink(missing_ok=True)  # no old verdict outlives a run that breaks off
    except OSError as error:
        raise pytest.UsageError(f"--report-dir {folder}: {error.strerror}") from None
    run = Run(os.path.relpath(path), folder / "report.json")
    try:
        run.source = read_source(run.path)
        run.submission = LocalSubmission(run.source)
    except SourceError as error:
        run.problem = error.message
    return run


@pytest.fixture
def student(request: pytest.FixtureRequest) -> Student:
    """The submission's functions."""
    run = request.config.stash[RUN]
    if run.problem:
        raise StudentError("error", run.problem, run.problem.values.get("line"))
    student = Student(run.submission)
    request.node.stash[STUDENT] = student
    if TIER_OF_MODULE[request.module.__name__] in GATED:
        student.from_scratch_only = True
        found = ready_made_attention(run.source.tree)
        if found:
            name, line = found
            raise StudentError("forbidden", text("seen.ready_made", name=name), line)
    return student


@pytest.fixture
def draw(request: pytest.FixtureRequest) -> Draw:
    """Random inputs for this check."""
    return Draw(request.config.getoption("--seed"), request.function.__name__)


@pytest.fixture
def expect(request: pytest.FixtureRequest) -> Expect:
    """Comparisons for this check."""
    request.node.stash[EXPECT] = Expect()
    return request.node.stash[EXPECT]


STUDENT = pytest.StashKey[Student]()
EXPECT = pytest.StashKey[Expect]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    """Note the result of a check; show our own failures in a few lines."""
    report = yield
    if call.when == "call" or (call.when == "setup" and call.excinfo):
        check = manifest.check_of(item.function, TIER_OF_MODULE[item.module.__name__])
        result = _result(item, check, report, call.excinfo.value if call.excinfo else None)
        if result:
            item.config.stash[RUN].results.append(result)
            if result.finding and item.config.option.tbstyle in ("auto", "no"):
                lang = item.config.getoption("--lang")
                report.longrepr = f"{result.finding.seen.say(lang)}\n{result.finding.meaning.say(lang)}"
    return report


def _result(
    item: pytest.Item, check: Check, report: pytest.TestReport, error: BaseException | None
) -> Result | None:
    measurement = item.stash[EXPECT].measurement if EXPECT in item.stash else None
    if report.passed and not hasattr(report, "wasxfail"):
        return Result(check, "passed", measurement=measurement)
    if isinstance(error, CheckFailed):
        return Result(check, "failed", _finding(item, check, error.seen, None), measurement)
    if isinstance(error, StudentError):
        return Result(check, error.outcome, _finding(item, check, error.seen, error.line), measurement)
    if report.failed:
        seen = text("seen.grader_error", type=type(error).__name__, says=error)
        return Result(
            check, "grader_error", Finding(seen, text("seen.grader_error_meaning"), None, None, None)
        )
    return None  # skipped: earns nothing, as a check that did not run


def _finding(item: pytest.Item, check: Check, seen: Text, line: int | None) -> Finding:
    run = item.config.stash[RUN]
    meaning = text(f"checks.{check.id}")
    meaning = Text(meaning.key, english=" ".join(item.function.__doc__.split()))
    exchanges = item.stash[STUDENT].exchanges if STUDENT in item.stash else []
    function = exchanges[-1].call.function if exchanges else None
    if line is None and function and run.source:
        line = run.source.line_of(function)
    section = TODO_BY_NAME[check.todo].section if check.todo else section_of(function) if function else None
    return Finding(seen, meaning, function, line, section)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Score the run and write the report."""
    config = session.config
    run = config.stash[RUN]
    if not run.results:
        return
    score = Score(
        path=run.path,
        sha256=run.source.sha256 if run.source else None,
        visibility="public",
        isolation="in-process",
        expected=manifest.expected_checks(),
        results=tuple(run.results),
        environment={
            "python": platform.python_version(),
            "torch": torch.__version__,
            "cpu": torch.backends.cpu.get_cpu_capability(),
            "platform": sys.platform,
            "seed": config.getoption("--seed"),
        },
        duration_s=time.monotonic() - run.started,
    )
    config.stash[SCORE] = score
    json_report.write(score, run.report, config.getoption("--lang"))
    if score.score is None:
        session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
    elif exitstatus == pytest.ExitCode.OK and any(result.outcome != "passed" for result in run.results):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, exitstatus: int, config: pytest.Config) -> None:
    """Print the report."""
    if SCORE not in config.stash:
        return
    writer = terminalreporter._tw
    console = Console(
        file=writer._file, force_terminal=writer.hasmarkup, width=writer.fullwidth, highlight=False
    )
    report = os.path.relpath(config.stash[RUN].report)
    terminal.show(config.stash[SCORE], console, config.getoption("--lang"), report)
