"""class.html: a class at a glance, for its instructors. A view of class.json."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from grader.judge.score import TIERS
from grader.judge.text import text
from grader.reports.page import render

Change = tuple[str, float | None, float | None]  # student, score before, score now


@dataclass(frozen=True)
class Progress:
    """What an earlier run had: its mean, the change of each student, and who got better or worse."""

    before: float | None
    changes: dict[str, float]
    groups: list[tuple[str, list[Change]]]


def as_html(summary: dict[str, Any], lang: str) -> str:
    """The page of a class.json."""
    rows = summary["students"]
    names = {tier.id: text(f"report.{tier.id.replace('-', '_')}").say(lang) for tier in TIERS}
    scores = [row["score"] for row in rows if row["score"] is not None]
    return render(
        "class/class.html",
        lang,
        script="class/class.js",
        students=rows,
        mean=summary["mean"],
        median=summary["median"],
        full=sum(row["score"] == row["max_score"] for row in rows if row["score"] is not None),
        attention=[row for row in rows if row["status"] != "graded"],
        passed_over=summary["passed_over"],
        bins=_bins(scores),
        tier_names=names,
        tier_points={tier.id: tier.points for tier in TIERS},
        tier_means=[(names[tier.id], _mean(rows, tier.id), tier.points) for tier in TIERS],
        progress=_progress(rows, summary["previous"]),
        mistakes=_mistakes(rows, summary["mistakes"], summary["titles"]),
        checks=sorted(summary["checks"], key=lambda check: check["passed"]),
        statuses=sorted({row["status"] for row in rows}),
    )


def _bins(scores: Iterable[float]) -> list[tuple[str, int]]:
    """How many scores there are in each ten points, and how many full marks."""
    counts = [0] * 11
    for score in scores:
        counts[int(score // 10)] += 1
    return [(f"{10 * n}–{10 * n + 9}" if n < 10 else "100", count) for n, count in enumerate(counts)]


def _mean(rows: list[dict[str, Any]], tier: str) -> float:
    earned = [row["tiers"][tier] for row in rows if row["score"] is not None]
    return round(sum(earned) / len(earned), 2) if earned else 0.0


def _progress(rows: list[dict[str, Any]], previous: dict[str, Any] | None) -> Progress | None:
    if not previous:
        return None
    before, now = previous["scores"], {row["student"]: row["score"] for row in rows}
    both = {s for s in now if before.get(s) is not None and now[s] is not None}
    changes = {student: round(now[student] - before[student], 2) for student in both}
    groups = {
        "better": [s for s in now if changes.get(s, 0) > 0],
        "worse": [s for s in now if changes.get(s, 0) < 0],
        "new": [s for s in now if s not in before],
        "gone": [s for s in before if s not in now],
    }
    found = [(kind, [(s, before.get(s), now.get(s)) for s in who]) for kind, who in groups.items() if who]
    return Progress(previous["mean"], changes, found)


def _mistakes(
    rows: list[dict[str, Any]], counts: dict[str, int], titles: dict[str, str]
) -> list[tuple[str, str, list]]:
    """Mistake, what it is called, and who made it; the most frequent first."""
    return [
        (one, titles[one], [row["student"] for row in rows if one in row.get("mistakes", ())])
        for one in counts
    ]
