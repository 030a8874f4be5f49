"""What cells show after grading: a score that nbgrader reads, and the report that a person reads.

Everything that is put into HTML is escaped. Of hidden checks it tells how many passed and what they ask
about; a mistake that is known by its name is named, wherever it was found.
"""

from collections.abc import Iterable
from html import escape
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_output

from grader.judge.text import text
from grader.nbgrader_plugin.quiz import Question

REPORT = "attention"  # the metadata of an output that holds the report, for the exports
_TABLE = 'style="border-collapse: collapse; margin: 0.4em 0; table-layout: auto; white-space: normal"'
_CELL = 'style="text-align: left; vertical-align: top; padding: 0.2em 0.8em 0.2em 0; white-space: normal"'
_BOX = 'style="border-left: 4px solid {colour}; padding: 0.3em 0.8em; margin: 0.4em 0"'
_LOST, _EARNED, _EMPTY = "#c33", "#2b7", "#999"


def score_output(score: float, html: str, report: dict[str, Any] | None) -> NotebookNode:
    """The one output of a tier's cell; a report given here stays out of the feedback."""
    return new_output(
        "execute_result",
        {"text/plain": repr(float(score)), "text/html": html},
        execution_count=1,
        metadata={REPORT: report} if report else {},
    )


def tier_html(report: dict[str, Any], tier_id: str, score: float, points: float, lang: str) -> str:
    """A tier: its points, its public checks one by one, its hidden checks in one line."""
    checks = [check for check in report["checks"] if check["tier"] == tier_id]
    public = [check for check in checks if check["visibility"] == "public"]
    hidden = [check for check in checks if check["visibility"] == "hidden"]
    name = text(f"report.{tier_id.replace('-', '_')}").say(lang)
    parts = [_paragraph(f"{name}: {score:g} / {points:g}", bold=True)]
    lost = [check for check in public if check["outcome"] != "passed"]
    parts += [_table(_rows(lost))] if lost else []
    names = ", ".join(_name(check) for check in public if check["outcome"] == "passed")
    parts += [_paragraph(f"✓ {names}")] if names else []
    if hidden:
        passed = sum(check["outcome"] == "passed" for check in hidden)
        parts.append(_paragraph(text("feedback.hidden", passed=passed, total=len(hidden)).say(lang)))
        if passed < len(hidden) and _is_readable(report):
            parts.append(_paragraph(text(f"hidden.{tier_id}").say(lang)))
    return "\n".join(parts)


def summary_html(report: dict[str, Any], notes: Iterable[str], notebook: str, lang: str) -> str:
    """The whole submission: the score, what was out of order, and what to fix, the most useful first."""
    points = {"score": report["score"], "max_score": report["max_score"], "isolation": report["isolation"]}
    parts = [_paragraph(text("feedback.score", **points).say(lang), bold=True)]
    if not _is_readable(report):
        reason = next(check["message"] for check in report["checks"])
        parts.append(_box([text("feedback.not_graded", reason=reason).say(lang)]))
    parts += [_box([text(f"feedback.{note}", notebook=notebook).say(lang)]) for note in notes]
    if _is_readable(report):
        parts += [_box(_diagnosis(found, report, lang)) for found in report["diagnoses"]]
    return "\n".join(parts)


def quiz_html(question: Question, outcome: str, lang: str) -> str:
    """The verdict on an answer, and the explanation."""
    verdict, why = question.feedback(outcome, lang)
    sign, colour = {"right": ("✓", _EARNED), "unanswered": ("–", _EMPTY)}.get(outcome, ("✗", _LOST))
    return _box([f"{sign} {verdict}", why], colour)


def _is_readable(report: dict[str, Any]) -> bool:
    return report["submission"]["sha256"] is not None


def _diagnosis(found: dict[str, Any], report: dict[str, Any], lang: str) -> list[str]:
    lost = [check for check in report["checks"] if check["outcome"] != "passed"]
    same = [c for c in lost if c["mistake"] == found["mistake"] and c["todo"] == found["todo"]]
    where = [f"TODO: {found['todo']}"] if found["todo"] else []
    where += [f"{report['submission']['path']}:{found['line']}"] if found["line"] else []
    where += [text(f"report.section_{found['section']}").say(lang)] if found["section"] else []
    return [same[0]["message"] if same else "", ", ".join(where)]


def _rows(lost: Iterable[dict[str, Any]]) -> list[tuple[str, str]]:
    """Lost checks and why; those with the same outcome and the same words at once."""
    groups: dict[tuple[str, str | None], list[str]] = {}
    for check in lost:
        groups.setdefault((check["outcome"], check["message"]), []).append(_name(check))
    return [
        (f"{'…' if outcome == 'not_attempted' else '✗'} {', '.join(names)}", message or outcome)
        for (outcome, message), names in groups.items()
    ]


def _name(check: dict[str, Any]) -> str:
    return check["id"].replace("_", " ")


def _paragraph(words: str, bold: bool = False) -> str:
    return f"<p><b>{escape(words)}</b></p>" if bold else f"<p>{escape(words)}</p>"


def _box(lines: Iterable[str], colour: str = _LOST) -> str:
    return f"<div {_BOX.format(colour=colour)}>{'<br>'.join(escape(line) for line in lines if line)}</div>"


def _table(rows: Iterable[tuple[str, ...]]) -> str:
    body = "".join(
        "<tr>" + "".join(f"<td {_CELL}>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table {_TABLE}>{body}</table>"
