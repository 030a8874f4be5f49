"""One run of the checks on one submission: what pytest and every other way of grading share."""

import contextlib
import inspect
import platform
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from grader import manifest
from grader.judge.call import StudentError
from grader.judge.diagnosis import with_mistakes
from grader.judge.draw import Draw, Sizes, secret_sizes
from grader.judge.exercise import TODO_BY_NAME, section_of
from grader.judge.expect import CheckFailed, Expect
from grader.judge.local import LocalSubmission
from grader.judge.score import GATED, LOST, Check, Finding, Result, Score
from grader.judge.scratch import ready_made_attention
from grader.judge.source import Source, SourceError, read_source
from grader.judge.submission import Exchange, Student, Submission
from grader.judge.text import Text, text


@dataclass(frozen=True)
class Tools:
    """What a check may ask for by the names of its arguments."""

    student: Student
    draw: Draw
    expect: Expect


class Run:
    """The checks of one submission: tools for each check, a result for each outcome, a score at the end."""

    def __init__(
        self,
        path: str,
        seed: str,
        open_submission: Callable[[Source], Submission] = LocalSubmission,
        official: bool = False,
        isolation: str = "in-process",
        problem: Text | None = None,
    ):
        self.path = path
        self.seed = seed
        self.official = official
        self.isolation = isolation
        self.results: list[Result] = []
        self._exchanges: list[Exchange] = []
        self._started = time.monotonic()
        self._source: Source | None = None
        self._submission: Submission | None = None
        self._refusal: StudentError | None = None  # why there is nothing to grade
        self._gate: StudentError | None = None  # why the gated tiers are closed
        try:
            if problem:
                raise SourceError(problem)
            self._source = read_source(path)
        except SourceError as error:
            self._refusal = StudentError("error", error.message, error.message.values.get("line"))
        else:
            self._submission = open_submission(self._source)
            self._gate = _gate(self._source)

    def close(self) -> None:
        """End the submission's worker, if it has one."""
        if self._submission:
            self._submission.close()

    def tools(self, check: Check) -> Tools:
        """Fresh tools for one check."""
        gated = check.tier in GATED
        student = Student(
            self._submission, self._refusal or (self._gate if gated else None), from_scratch=gated
        )
        sizes = secret_sizes(self.seed) if check.visibility == "hidden" else Sizes()
        return Tools(student, Draw(self.seed, check.id, sizes), Expect())

    def note(
        self, check: Check, function: Callable, tools: Tools, error: BaseException | None, printed: str = ""
    ) -> Result:
        """Turn the end of a check into its result: None passed, anything unforeseen is the grader's fault.

        printed: what the check printed, where the submission runs in this process.
        """
        result = self._result(check, function, tools, error)
        expect = tools.expect
        result = replace(
            result,
            measurement=expect.measurement,
            leak_map=expect.leak_map,
            weights=expect.weights,
            gradients=expect.gradients,
            printed=self._printed(check, printed),
        )
        self.results.append(result)
        self._exchanges += tools.student.exchanges
        return result

    def _printed(self, check: Check, printed: str) -> str:
        """What may be shown of it: nothing from the first hidden check on, whose inputs it could tell."""
        if self._submission:
            printed += self._submission.printed()
        hidden = check.visibility == "hidden" or any(r.check.visibility == "hidden" for r in self.results)
        return "" if hidden else printed

    def _result(self, check: Check, function: Callable, tools: Tools, error: BaseException | None) -> Result:
        if error is None:
            return Result(check, "passed")
        if isinstance(error, CheckFailed | StudentError):
            outcome = getattr(error, "outcome", "failed")
            outcome = outcome if outcome in LOST else "error"  # in this process student code can raise it too
            finding = self._finding(check, function, tools, error.seen, getattr(error, "line", None))
            return Result(check, outcome, finding)
        seen = text("seen.grader_error", type=type(error).__name__, says=error)
        finding = Finding(seen, text("seen.grader_error_meaning"), None, None, None)
        return Result(check, "grader_error", finding)

    def _finding(
        self, check: Check, function: Callable, tools: Tools, seen: Text, line: int | None
    ) -> Finding:
        if self._refusal:
            return Finding(seen, text("source.meaning"), None, line, None)
        meaning = Text(f"checks.{check.id}", own={"en": inspect.getdoc(function).replace("\n", " ")})
        called = tools.student.exchanges[-1].call.function if tools.student.exchanges else None
        if line is None and called:
            line = self._source.line_of(called)
        if seen.key in ("seen.raised", "seen.import_raised"):
            meaning = text("report.stopped", asks=meaning)
        section = TODO_BY_NAME[check.todo].section if check.todo else section_of(called) if called else None
        if check.visibility == "hidden":  # neither numbers nor words that tell the inputs
            seen, meaning = text("seen.hidden"), text(f"hidden.{check.tier}")
        return Finding(seen, meaning, called, line, section)

    def _named(self) -> tuple[Result, ...]:
        """The results with known mistakes named; a fault in that costs the names and no verdict."""
        try:
            return with_mistakes(self.results, self._exchanges)
        except Exception as error:
            warnings.warn(f"no mistake was named: {type(error).__name__}: {error}", stacklevel=2)
            return tuple(self.results)

    def score(self) -> Score:
        """The verdict on what has run so far."""
        return Score(
            path=self.path,
            sha256=self._source.sha256 if self._source else None,
            visibility="official" if self.official else "public",
            isolation=self.isolation,
            expected=tuple(check for check, _ in manifest.checks(self.official)),
            results=self._named(),
            environment={
                "python": platform.python_version(),
                "torch": torch.__version__,
                "cpu": torch.backends.cpu.get_cpu_capability(),
                "platform": sys.platform,
                "seed": None if self.official else self.seed,  # it would tell the hidden inputs
            },
            duration_s=time.monotonic() - self._started,
        )


def grade(
    path: str,
    seed: int | str = 0,
    open_submission: Callable[[Source], Submission] = LocalSubmission,
    official: bool = False,
    isolation: str = "in-process",
    problem: Text | None = None,
) -> Score:
    """Run all checks on one file, without pytest: the same checks, the same score.

    isolation: what open_submission puts around it. problem: why there is nothing to grade, where that is
    known before; every check is lost for that reason.
    """
    with contextlib.closing(Run(path, seed, open_submission, official, isolation, problem)) as run:
        _run_all(run)
        return run.score()


def _run_all(run: Run) -> None:
    for check, function in manifest.checks(run.official):
        tools = run.tools(check)
        error = None
        try:
            function(**{name: getattr(tools, name) for name in inspect.signature(function).parameters})
        except Exception as raised:
            error = raised
        run.note(check, function, tools, error)


def _gate(source: Source) -> StudentError | None:
    found = ready_made_attention(source.tree)
    if not found:
        return None
    name, line = found
    return StudentError("forbidden", text("seen.ready_made", name=name), line)
