"""report.html: the score, the first thing to fix, pictures of the student's own run, and every check."""

import inspect
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from grader import manifest
from grader.judge.diagnosis import Diagnosis
from grader.judge.exercise import TODOS
from grader.judge.score import MAX_SCORE, Result, Score, TierScore
from grader.judge.text import Text, text
from grader.reports import pictures
from grader.reports.files import write_text
from grader.reports.overview import has_leak, state_of, to_fix, where
from grader.reports.page import render


@dataclass(frozen=True)
class Lost:
    """A public check that did not pass: what it says, its own source, and what the student printed in it."""

    result: Result
    seen: str
    meaning: str
    source: str


@dataclass(frozen=True)
class TierPart:
    """A tier: its public checks, and how many of the hidden ones passed."""

    score: TierScore
    name: str
    lost: list[list[Lost]]  # those that were lost for the same reason together
    passed: list[tuple[str, str]]  # check, what it asks
    hidden: tuple[int, int] | None  # passed, of how many
    hidden_says: str


@dataclass(frozen=True)
class ToFix:
    """A thing to fix, in words."""

    diagnosis: Diagnosis
    seen: str
    meaning: str
    where: str
    section: str


def write(score: Score, file: Path, lang: str) -> bool:
    """Write the page in one step. -> whether there is one: a fault in it costs the page and no verdict."""
    try:
        page = as_html(score, lang)
    except Exception as error:
        warnings.warn(f"no {file.name}: {type(error).__name__}: {error}", stacklevel=2)
        file.unlink(missing_ok=True)
        return False
    write_text(page, file)
    return True


def as_html(score: Score, lang: str) -> str:
    """The page. It holds no number of a hidden check, and not the seed of an official grading."""
    functions = {check.id: function for check, function in manifest.checks()}
    return render(
        "report.html",
        lang,
        score=score,
        max_score=MAX_SCORE,
        numbers={todo.name: todo.number for todo in TODOS},
        todos=[(todo, state_of(todo, score)) for todo in TODOS],
        to_fix=[_to_fix(found, score, lang) for found in to_fix(score)],
        tiers=[_tier(tier, score, functions, lang) for tier in score.tiers],
        leaking=has_leak(score),
        pictures=pictures,
        why=text("report.why_1e_16").say(lang),
    )


def _to_fix(found: Diagnosis, score: Score, lang: str) -> ToFix:
    finding = found.result.finding
    section = text(f"report.section_{finding.section}").say(lang) if finding.section else ""
    return ToFix(found, finding.seen.say(lang), finding.meaning.say(lang), where(found, score), section)


def _tier(tier: TierScore, score: Score, functions: dict, lang: str) -> TierPart:
    own = [result for result in score.results if result.check.tier == tier.tier.id]
    public = [result for result in own if result.check.visibility == "public"]
    hidden = [result.outcome == "passed" for result in own if result.check.visibility == "hidden"]
    return TierPart(
        score=tier,
        name=text(f"report.{tier.tier.id.replace('-', '_')}").say(lang),
        lost=_groups(_lost(r, functions[r.check.id], lang) for r in public if r.outcome != "passed"),
        passed=[(r.check.id, _asks(r, functions, lang)) for r in public if r.outcome == "passed"],
        hidden=(sum(hidden), len(hidden)) if hidden else None,
        hidden_says="" if all(hidden) else text(f"hidden.{tier.tier.id}").say(lang),
    )


def _groups(lost: Iterable[Lost]) -> list[list[Lost]]:
    groups: dict[tuple[str, str], list[Lost]] = {}
    for one in lost:
        groups.setdefault((one.result.outcome, one.seen), []).append(one)
    return list(groups.values())


def _lost(result: Result, function: object, lang: str) -> Lost:
    finding = result.finding
    return Lost(result, finding.seen.say(lang), finding.meaning.say(lang), inspect.getsource(function))


def _asks(result: Result, functions: dict, lang: str) -> str:
    asked = inspect.getdoc(functions[result.check.id]).replace("\n", " ")
    return Text(f"checks.{result.check.id}", own={"en": asked}).say(lang)
