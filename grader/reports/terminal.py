"""The report on the terminal: tiers and points, the state of each TODO, the first thing to fix."""

from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from grader.judge.diagnosis import Diagnosis, diagnose
from grader.judge.exercise import TODOS
from grader.judge.score import MAX_SCORE, Score
from grader.judge.text import text as message
from grader.reports.overview import LEAK, has_leak, state_of, where

_WIDTH = 80
_MARKS = {
    "passed": ("✓", "green"),
    "open": ("…", "yellow"),
    "closed": ("!", "yellow"),
    "failed": ("✗", "red"),
    "unknown": ("?", "dim"),
}


def show(score: Score, console: Console, lang: str, report: str | None = None, focus: int = 0) -> None:
    """Print the report; `report` is where the files went, `focus` the thing to fix that is shown whole."""
    console.width = min(console.width, _WIDTH)
    console.print(_tiers(score, lang))
    console.print(_todos(score, lang))
    diagnoses = diagnose(score)
    if diagnoses:
        console.print(_first(diagnoses[focus], score, lang))
        for diagnosis in diagnoses[:focus] + diagnoses[focus + 1 :]:
            console.print(_also(diagnosis, score, lang))
    for line in _notes(score, lang):
        console.print(line)
    if report:
        # Not broken into lines by us: a long path stays a word that can be copied.
        console.print(Text(_say("report", lang, file=report), style="dim"), soft_wrap=True)


def _say(key: str, lang: str, **values: object) -> str:
    return message(f"report.{key}", **values).say(lang)


def _tiers(score: Score, lang: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), expand=True, show_footer=True, pad_edge=False)
    table.add_column(_say("tier", lang), _say("total", lang))
    table.add_column(_say("checks", lang), justify="right")
    points = "–" if score.score is None else f"{score.score:g} / {MAX_SCORE:g}"
    table.add_column(_say("points", lang), Text(points, style="bold"), justify="right", no_wrap=True)
    table.add_column("", ratio=1)
    for number, tier in enumerate(score.tiers, start=1):
        full = tier.passed == tier.total > 0
        table.add_row(
            f"{number} {_say(tier.tier.id.replace('-', '_'), lang)}",
            f"{tier.passed}/{tier.total}",
            f"{tier.score:g} / {tier.tier.points:g}",
            ProgressBar(
                total=tier.tier.points,
                completed=tier.score,
                complete_style="green" if full else "yellow",
                finished_style="green",
            ),
        )
    return table


def _todos(score: Score, lang: str) -> Text:
    states = []
    for todo in TODOS:
        mark, style = _MARKS[state_of(todo, score)]
        states.append(Text(f"{mark} TODO {todo.number} {todo.name}", style=style))
    return Text("   ").join(states)


def _first(diagnosis: Diagnosis, score: Score, lang: str) -> Panel:
    finding = diagnosis.result.finding
    rows = Table.grid(padding=(0, 1))
    rows.add_column(style="bold", no_wrap=True)
    rows.add_column()
    rows.add_row(_say("seen", lang), Text(finding.seen.say(lang)))
    rows.add_row(_say("meaning", lang), Text(finding.meaning.say(lang)))
    rows.add_row(_say("look", lang), Text(where(diagnosis, score)))
    if finding.section:
        rows.add_row(_say("lesson", lang), Text(_say(f"section_{finding.section}", lang)))
    if has_leak(score):
        rows.add_row(_say("leaks", lang), _leak_map(score, lang))
    lost = _say(_kind("lost", diagnosis), lang, lost=diagnosis.lost)
    rows.add_row(Text(_say("check", lang), style="dim"), Text(f"{diagnosis.result.check.id}; {lost}", "dim"))
    return Panel(rows, title=_say("fix_first", lang), title_align="left", box=box.ROUNDED, border_style="red")


def _leak_map(score: Score, lang: str) -> Text:
    """A line for each output, a mark for each token: what it sees, and what it must not."""
    lines = []
    for i, row in enumerate(score.leak_map):
        line = Text(_say("output", lang, number=i) + " ")
        for j, moved in enumerate(row):
            seen = moved > LEAK
            line.append("✗ " if seen and j > i else "■ " if seen else "· ", style="red" if j > i else "green")
        lines.append(line)
    lines[0].append("  " + _say("leak_legend", lang), style="dim")
    return Text("\n").join(lines)


def _also(diagnosis: Diagnosis, score: Score, lang: str) -> Text:
    place = where(diagnosis, score)
    return Text(_say(_kind("also", diagnosis), lang, where=place, lost=diagnosis.lost), style="yellow")


def _kind(key: str, diagnosis: Diagnosis) -> str:
    """The key of a message, or its sister for what was not attempted yet."""
    return f"{key}_unattempted" if diagnosis.result.outcome == "not_attempted" else key


def _notes(score: Score, lang: str) -> list[Text]:
    notes = []
    if score.score is None:
        notes.append(Text(_say("grader_error", lang), style="bold red"))
    elif not score.complete:
        notes.append(
            Text(_say("partial", lang, ran=len(score.results), total=len(score.expected)), style="bold")
        )
    elif score.score == MAX_SCORE:
        notes.append(Text(_say(f"all_passed_{score.visibility}", lang), style="bold green"))
    if any(tier.tier.id == "equivalence-1e-16" and tier.passed == tier.total > 0 for tier in score.tiers):
        notes.append(Text(_say("why_1e_16", lang), style="dim"))
    return notes
