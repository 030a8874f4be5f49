"""class.json and class.csv: a class in numbers, from the reports of its students."""

import csv
import io
from collections import Counter
from collections.abc import Iterable
from typing import Any

from grader.judge.score import TIERS
from grader.judge.text import harmless

COLUMNS = (
    "student",
    "score",
    "max_score",
    "shape",
    "causality",
    "equivalence-1e-6",
    "equivalence-1e-16",
    "gradient-flow",
    "status",
    "mistakes",
    "message",
    "isolation",
    "sha256",
)
NEEDS_HUMAN = ("forbidden", "timeout", "crashed", "grader_error")


def row_of(student: str, report: dict[str, Any]) -> dict[str, Any]:
    """What a class keeps of one report."""
    if "checks" not in report:  # our fault, and no verdict
        return {"student": student, "score": None, "status": "grader_error", "message": report.get("problem")}
    outcomes = Counter(check["outcome"] for check in report["checks"])
    lost = [check for check in report["checks"] if check["outcome"] != "passed"]
    return {
        "student": student,
        "score": report["score"],
        "max_score": report["max_score"],
        "tiers": {tier["id"]: tier["score"] for tier in report["tiers"]},
        "outcomes": dict(sorted(outcomes.items())),
        "status": _status(report, outcomes),
        "mistakes": [found["mistake"] for found in report["diagnoses"] if found["mistake"]],
        "message": lost[0]["message"] if lost else None,
        "lost": [check["id"] for check in lost],
        "isolation": report["isolation"],
        "sha256": report["submission"]["sha256"],
    }


def _status(report: dict[str, Any], outcomes: Counter) -> str:
    if report["submission"]["sha256"] is None:
        return "unreadable"
    return next((outcome for outcome in reversed(NEEDS_HUMAN) if outcomes[outcome]), "graded")


def titles_of(report: dict[str, Any]) -> dict[str, str]:
    """What the mistakes of a report are called, by their ids."""
    return {one["mistake"]: one["title"] for one in report.get("diagnoses", ()) if one["mistake"]}


def as_dict(
    rows: Iterable[dict[str, Any]],
    passed_over: list[str],
    seed: str,
    checks: Iterable[dict[str, Any]] = (),
    titles: dict[str, str] | None = None,
    earlier: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """class.json: students, how often each check was lost, the most frequent mistakes.

    checks: all checks, as a report has them. titles: what the mistakes are called, by their ids.
    earlier: the class.json of the last run, which is kept for comparison as soon as a score differs.
    """
    rows = list(rows)
    lost = Counter(check for row in rows for check in row.get("lost", ()))
    total = sum("lost" in row for row in rows)
    fields = ("id", "tier", "todo", "visibility")
    scores = sorted(row["score"] for row in rows if row["score"] is not None)
    return {
        "schema": 1,
        "seed": seed,
        "graded": len(scores),
        "mean": round(sum(scores) / len(scores), 2) if scores else None,
        "median": scores[len(scores) // 2] if scores else None,
        "lost_checks": _counts(lost.elements()),
        "checks": [
            {name: check[name] for name in fields} | {"passed": total - lost[check["id"]], "total": total}
            for check in checks
        ],
        "mistakes": _counts(mistake for row in rows for mistake in row.get("mistakes", ())),
        "titles": titles or {},
        "needs_human": [row["student"] for row in rows if row["status"] != "graded"],
        "passed_over": passed_over,
        "previous": _previous(earlier, rows),
        "students": rows,
    }


def _previous(earlier: dict[str, Any] | None, rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The scores to compare with; those of the last run that differed."""
    if not earlier:
        return None
    scores = {row["student"]: row["score"] for row in earlier["students"]}
    if scores == {row["student"]: row["score"] for row in rows}:
        return earlier.get("previous")
    return {"mean": earlier["mean"], "median": earlier["median"], "scores": scores}


def as_csv(rows: Iterable[dict[str, Any]]) -> str:
    """class.csv: a line for each student."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        cells = row | row.get("tiers", {}) | {"mistakes": " ".join(row.get("mistakes", ()))}
        writer.writerow([safe_cell(cells.get(column)) for column in COLUMNS])
    return stream.getvalue()


def in_words(row: dict[str, Any]) -> str:
    """The tiers of a row in one line."""
    parts = [f"{tier.id} {row['tiers'][tier.id]:g}/{tier.points:g}" for tier in TIERS if "tiers" in row]
    return "; ".join(parts) + ("" if row["status"] == "graded" else f" ({row['status']})")


def _counts(items: Iterable[str]) -> dict[str, int]:
    counted = Counter(items)
    return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))


def safe_cell(value: Any) -> Any:
    """A spreadsheet takes a text that begins like a formula for one: an apostrophe keeps it a text."""
    if not isinstance(value, str):
        return value
    value = harmless(value)  # a lone \r would end a line
    return f"'{value}" if value.lstrip().startswith(("=", "+", "-", "@", "\t")) else value
