"""report.json: the fields that other programs read (DESIGN of the report, schema 1)."""

import math
from pathlib import Path
from typing import Any

from grader.judge.diagnosis import Diagnosis, diagnose
from grader.judge.score import MAX_SCORE, SCHEMA, Result, Score
from grader.judge.text import printable
from grader.reports.files import write_json


def as_dict(score: Score, lang: str = "en") -> dict[str, Any]:
    """The report as plain JSON values. "score" is null when the grader itself failed."""
    return {
        "schema": SCHEMA,
        "score": score.score,
        "max_score": MAX_SCORE,
        "complete": score.complete,
        "visibility": score.visibility,
        "submission": {"path": printable(score.path, longest=4096), "sha256": score.sha256},
        "tiers": [
            {
                "id": tier.tier.id,
                "points": tier.tier.points,
                "score": tier.score,
                "passed": tier.passed,
                "total": tier.total,
            }
            for tier in score.tiers
        ],
        "checks": [_check(result, lang) for result in score.results],
        "leak_map": score.leak_map,
        "diagnoses": [_diagnosis(diagnosis, lang) for diagnosis in diagnose(score)],
        "isolation": score.isolation,
        "environment": score.environment,
        "duration_s": round(score.duration_s, 3),
    }


def write(score: Score, file: Path, lang: str) -> None:
    """Write the report in one step."""
    write_json(as_dict(score, lang), file)


def _check(result: Result, lang: str) -> dict[str, Any]:
    check, finding = result.check, result.finding
    # how near a hidden check came would tell about its inputs
    measured = result.measurement if check.visibility == "public" else None
    return {
        "id": check.id,
        "tier": check.tier,
        "todo": check.todo,
        "visibility": check.visibility,
        "weight": check.weight,
        "outcome": result.outcome,
        "message": f"{finding.seen.say(lang)} {finding.meaning.say(lang)}" if finding else None,
        "mistake": finding.mistake if finding else None,
        "error": _number(measured.error) if measured else None,
        "tolerance": measured.tolerance if measured else None,
        "torch_error": _number(measured.torch_error) if measured else None,
    }


def _number(value: float | None) -> float | None:
    """JSON has no infinity and no NaN, which sums of large numbers end in."""
    return value if value is not None and math.isfinite(value) else None


def _diagnosis(diagnosis: Diagnosis, lang: str) -> dict[str, Any]:
    finding = diagnosis.result.finding
    return {
        "mistake": finding.mistake,
        "title": finding.title.say(lang) if finding.title else None,
        "todo": diagnosis.todo,
        "line": finding.line,
        "section": finding.section,
    }
