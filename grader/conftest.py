"""pytest glue: fixtures for the checks, and hooks that turn outcomes into a score report."""

import functools
import gc
import os
import secrets
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from rich.console import Console

from grader.judge.draw import Draw
from grader.judge.expect import Expect
from grader.judge.local import LocalSubmission
from grader.judge.score import Score
from grader.judge.source import Source
from grader.judge.submission import Student, Submission
from grader.manifest import check_of
from grader.pytest_options import SUBMISSION
from grader.reports import json_report, terminal
from grader.run import Run, Tools

RUN = pytest.StashKey[Run]()
REPORT = pytest.StashKey[Path]()
SCORE = pytest.StashKey[Score]()
TOOLS = pytest.StashKey[Tools]()


def pytest_configure(config: pytest.Config) -> None:
    """Read the submission, and keep the screen for the report unless -v or --tb asks for more."""
    if config.option.verbose == 0:
        config.option.no_header = True
        config.option.disable_warnings = True
        config.option.reportchars = ""
        if config.option.tbstyle == "auto":
            config.option.tbstyle = "no"
    if not (config.rootpath / "grader").exists() or not Path(__file__).parent.samefile(
        config.rootpath / "grader"
    ):
        raise pytest.UsageError(f"pytest took its settings from {config.inipath}. Write --submission=FILE.")
    torch.set_num_threads(1)
    gc.freeze()  # what torch has made stays: collecting it again and again takes half a second
    config.stash[REPORT] = _report_file(config)
    path = config.getoption("--submission")
    path = config.invocation_params.dir / path if path is not None else config.rootpath / SUBMISSION
    official = config.getoption("--official")
    open_submission, isolation = LocalSubmission, "in-process"
    if official or config.getoption("--isolated"):
        open_submission, isolation = _isolated(config, official)
    seed = config.getoption("--seed") or (secrets.token_hex(16) if official else "0")
    config.stash[RUN] = Run(os.path.relpath(path), seed, open_submission, official, isolation)


def _isolated(config: pytest.Config, official: bool) -> tuple[Callable[[Source], Submission], str]:
    """-> what opens submissions behind a launcher, started here before any secret is drawn; the isolation."""
    from grader.isolation.launcher import IsolationError, Launcher
    from grader.isolation.submission import WorkerSubmission

    try:
        launcher = Launcher(
            "sandbox" if official and not config.getoption("--accept-less-isolation") else None
        )
    except IsolationError as error:
        raise pytest.UsageError(f"{error} Use --accept-less-isolation to go on with less.") from None
    config.add_cleanup(launcher.close)
    return functools.partial(WorkerSubmission, launcher), launcher.isolation


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the hidden checks out of a public run."""
    is_hidden = collection_path.resolve() == Path(__file__).resolve().parent / "hidden"
    return True if is_hidden and not config.stash[RUN].official else None


def _report_file(config: pytest.Config) -> Path:
    folder = config.getoption("--report-dir")
    folder = config.invocation_params.dir / folder if folder else config.rootpath / "report"
    file = folder / "report.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()  # known before the checks run, not after
        for old in (file, file.with_suffix(".html")):
            old.unlink(missing_ok=True)  # no old verdict outlives a run that breaks off
    except OSError as error:
        raise pytest.UsageError(f"--report-dir: {folder} cannot hold a report: {error.strerror}") from None
    return file


@pytest.fixture
def tools(request: pytest.FixtureRequest) -> Tools:
    """All tools of this check."""
    made = request.config.stash[RUN].tools(check_of(request.function))
    request.node.stash[TOOLS] = made
    return made


@pytest.fixture
def student(tools: Tools) -> Student:
    """The submission's functions."""
    return tools.student


@pytest.fixture
def draw(tools: Tools) -> Draw:
    """Random inputs for this check."""
    return tools.draw


@pytest.fixture
def expect(tools: Tools) -> Expect:
    """Comparisons for this check."""
    return tools.expect


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    """Note the result of a check; say our own failures in a few lines, unless --tb asks for the traceback."""
    report = yield
    if call.when != "call" or report.skipped or hasattr(report, "wasxfail"):
        return report  # skipped: no result, and so no points
    error = call.excinfo.value if call.excinfo else None
    result = item.config.stash[RUN].note(
        check_of(item.function), item.function, item.stash[TOOLS], error, report.capstdout + report.capstderr
    )
    if result.finding and item.config.option.tbstyle in ("auto", "no"):
        lang = item.config.getoption("--lang")
        report.longrepr = f"{result.finding.seen.say(lang)}\n{result.finding.meaning.say(lang)}"
    return report


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Score the run and write the report."""
    config = session.config
    run = config.stash[RUN]
    if not run.results:
        return
    score = config.stash[SCORE] = run.score()
    run.close()
    lang, file = config.getoption("--lang"), config.stash[REPORT]
    json_report.write(score, file, lang)
    if not config.getoption("--no-html"):
        from grader.reports import html_report  # here, so that --no-html costs nothing

        if html_report.write(score, file.with_suffix(".html"), lang):
            config.stash[REPORT] = file.with_suffix(".html")
    _append_summary(score, lang)
    if score.score is None:
        session.exitstatus = pytest.ExitCode.INTERNAL_ERROR


def _append_summary(score: Score, lang: str) -> None:
    """Where GitHub Actions runs us, the report goes beside the run as well."""
    file = os.environ.get("GITHUB_STEP_SUMMARY")
    if file:
        from grader.reports.markdown import as_markdown

        try:
            with open(file, "a", encoding="utf-8") as stream:
                stream.write(as_markdown(score, lang))
        except OSError as error:
            warnings.warn(f"no summary in {file}: {error.strerror}", stacklevel=2)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the report."""
    if SCORE not in config.stash:
        return
    writer = terminalreporter._tw
    console = Console(
        file=writer._file, force_terminal=writer.hasmarkup, width=writer.fullwidth, highlight=False
    )
    terminal.show(
        config.stash[SCORE], console, config.getoption("--lang"), os.path.relpath(config.stash[REPORT])
    )
