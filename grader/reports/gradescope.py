"""results.json as Gradescope reads it: a test for each tier, all of it plain text.

Fields as in https://gradescope-autograders.readthedocs.io/en/latest/specs/
"""

from typing import Any

from grader.judge.score import Score, TierScore
from grader.judge.text import text
from grader.reports.overview import to_fix, where


def as_dict(score: Score, lang: str = "en") -> dict[str, Any]:
    """The results of a score. ValueError if there is none: a fault of ours is no student's zero."""
    if score.score is None:
        raise ValueError("the grader failed, and there is no score")
    return {
        "score": score.score,
        "execution_time": round(score.duration_s),
        "output": _first(score, lang),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [_test(number, tier, score, lang) for number, tier in enumerate(score.tiers, start=1)],
    }


def _test(number: int, tier: TierScore, score: Score, lang: str) -> dict[str, Any]:
    passed = tier.passed == tier.total > 0
    return {
        "name": text(f"report.{tier.tier.id.replace('-', '_')}").say(lang),
        "number": str(number),
        "score": tier.score,
        "max_score": tier.tier.points,
        "status": "passed" if passed else "failed",
        "output": "\n".join(_lines(tier, score, lang)),
        "visibility": "visible",
    }


def _lines(tier: TierScore, score: Score, lang: str) -> list[str]:
    """The public checks that were lost, one by one; the hidden ones by their number alone."""
    own = [result for result in score.results if result.check.tier == tier.tier.id]
    lines = [text("feedback.passed", passed=tier.passed, total=tier.total).say(lang)]
    for result in own:
        if result.check.visibility == "public" and result.outcome != "passed":
            finding = result.finding
            lines.append(f"✗ {result.check.id}: {finding.seen.say(lang)} {finding.meaning.say(lang)}")
    hidden = [result.outcome == "passed" for result in own if result.check.visibility == "hidden"]
    if not all(hidden):
        lines.append(text("feedback.hidden", passed=sum(hidden), total=len(hidden)).say(lang))
        lines.append(text(f"hidden.{tier.tier.id}").say(lang))
    return lines


def _first(score: Score, lang: str) -> str:
    """What to fix, the most useful first."""
    lines = []
    for found in to_fix(score):
        finding = found.result.finding
        lines += [where(found, score), finding.seen.say(lang), finding.meaning.say(lang), ""]
    return "\n".join(lines).strip() or text("report.all_passed_official").say(lang)
