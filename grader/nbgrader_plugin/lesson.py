"""python -m grader lesson: makes the notebooks of the course from the texts in assignments/lesson.

cells.py has every cell in order (jupytext's percent format), with its id, points and code, once for both
languages. en.md and zh.md have the prose of the Markdown cells, each below a line "<!-- id -->".
"""

import argparse
import re
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from grader.nbgrader_plugin.assignments import LANGUAGE, notebook_of
from grader.stub import ROOT

LESSON = ROOT / "assignments" / "lesson"
SOURCE = ROOT / "assignments" / "source"
_MARK = re.compile(r"^<!-- ([\w-]+) -->$", flags=re.MULTILINE)
# Markdown shows a line break as a space, and there is none between Chinese characters.
_WIDE, _STOP = "\u2e80-\uffef\u2018-\u201d", "\u3000-\u303f\uff00-\uffef\u201d"
_BREAK = re.compile(rf"(?<=[{_WIDE}])\n *(?=[{_WIDE}])|(?<=[{_STOP}])\n(?=[A-Za-z`]|\$(?!\$)|\*\*)")
_LANG = 'lang = "en"'  # the only line of code that differs
_KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


class LessonError(Exception):
    """The texts do not make a notebook."""


def notebook(lang: str, lesson: Path = LESSON) -> str:
    """The text of the notebook file in a language. LessonError."""
    outline = jupytext.read(lesson / "cells.py", fmt="py:percent")
    prose = _prose(lesson / f"{lang}.md")
    ids = [cell.metadata.get("id") for cell in outline.cells]
    twice = sorted({str(name) for name in ids if name is None or ids.count(name) > 1})
    if twice:
        raise LessonError(f"cells.py: no id, or one that is there twice: {', '.join(twice)}")
    wanted = {cell.metadata["id"] for cell in outline.cells if cell.cell_type == "markdown"}
    if wanted != set(prose):
        raise LessonError(f"cells.py and {lang}.md differ in {', '.join(sorted(wanted ^ set(prose)))}")
    if sum(_LANG in cell.source for cell in outline.cells) != 1:
        raise LessonError(f"cells.py: not exactly one cell with {_LANG}")
    cells = [_cell(cell, prose, lang) for cell in outline.cells]
    made = new_notebook(cells=cells, metadata={"kernelspec": _KERNEL, "language_info": {"name": "python"}})
    nbformat.validate(made)
    return nbformat.writes(made) + "\n"


def _prose(file: Path) -> dict[str, str]:
    """Cell id -> its text."""
    before, *parts = _MARK.split(file.read_text(encoding="utf-8"))
    names, texts = parts[::2], [_BREAK.sub("", text.strip()) for text in parts[1::2]]
    if before.strip() or len(set(names)) < len(names) or not all(texts):
        raise LessonError(
            f"{file.name}: text above the first id, an id that is there twice, or an empty text"
        )
    return dict(zip(names, texts, strict=True))


def _cell(outline: NotebookNode, prose: dict[str, str], lang: str) -> NotebookNode:
    name, points = outline.metadata["id"], outline.metadata.get("points")
    is_text = outline.cell_type == "markdown"
    metadata = {
        "cell_type": outline.cell_type,
        "grade": points is not None,
        "grade_id": name,
        "locked": not (is_text and points),
        "schema_version": 3,
        "solution": bool(is_text and points),  # text that earns points is an answer
        "task": False,
    }
    if points is not None:
        metadata["points"] = points
    if is_text:
        return new_markdown_cell(prose[name], id=name, metadata={"nbgrader": metadata})
    code = outline.source.replace(_LANG, f'lang = "{lang}"')
    return new_code_cell(code, id=name, metadata={"nbgrader": metadata})


def add_arguments(_: argparse.ArgumentParser) -> None:
    """The command takes none."""


def run(_: argparse.Namespace) -> int:
    """The command: write the notebooks anew."""
    try:
        texts = {assignment: notebook(lang) for assignment, lang in LANGUAGE.items()}
    except LessonError as error:
        print(error)
        return 1
    for assignment, text in texts.items():
        file = SOURCE / assignment / notebook_of(assignment)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="\n")
        print(f"wrote {file.relative_to(ROOT)}")
    return 0
