"""The report in Markdown, as a CI service shows it beside a run (GitHub's step summary)."""

import re

from grader.judge.exercise import TODOS
from grader.judge.score import MAX_SCORE, Score
from grader.judge.text import text
from grader.reports.overview import state_of, to_fix, where

_MARKS = {"passed": "✅", "open": "⬜", "closed": "🚫", "failed": "❌", "unknown": "❔"}
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+\-.!|~&:$=^])")


def as_markdown(score: Score, lang: str) -> str:
    """Score, tiers, TODOs and what to fix; nothing that a student wrote is markup."""
    points = "–" if score.score is None else f"{score.score:g}"
    lines = [f"## {points} / {MAX_SCORE:g}", ""]
    if score.score is None:
        lines += [escape(_say("grader_error", lang)), ""]
    lines += [f"| {_say('tier', lang)} | {_say('checks', lang)} | {_say('points', lang)} |", "|---|--:|--:|"]
    for number, tier in enumerate(score.tiers, start=1):
        name = escape(_say(tier.tier.id.replace("-", "_"), lang))
        checks = f"{tier.passed}/{tier.total}"
        lines.append(f"| {number} {name} | {checks} | {tier.score:g} / {tier.tier.points:g} |")
    states = [f"{_MARKS[state_of(todo, score)]} TODO {todo.number} {escape(todo.name)}" for todo in TODOS]
    lines += ["", " &nbsp; ".join(states), ""]
    for number, found in enumerate(to_fix(score)):
        finding = found.result.finding
        lines += [f"### {_say('fix_first', lang)}", ""] if number == 0 else []
        lines += [
            f"{number + 1}. **{escape(where(found, score))}**  ",
            f"   {escape(finding.seen.say(lang))}  ",
            f"   {escape(finding.meaning.say(lang))}",
            "",
        ]
    return "\n".join(lines) + "\n"


def escape(words: str) -> str:
    """A line as it is: no emphasis, link, table, HTML or formula, and nobody is called by an @."""
    return _SPECIAL.sub(r"\\\1", words).replace("@", "@\N{ZERO WIDTH SPACE}")


def _say(key: str, lang: str) -> str:
    return text(f"report.{key}").say(lang)
