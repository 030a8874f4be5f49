"""The two notebooks are what their texts give, and differ in prose alone."""

import functools
import json
import re
import shutil
from pathlib import Path

import pytest

from grader.judge.text import text
from grader.nbgrader_plugin.assignments import LANGUAGE, notebook_of
from grader.nbgrader_plugin.lesson import LESSON, SOURCE, LessonError, notebook
from grader.nbgrader_plugin.quiz import questions

CHINESE = re.compile(r"[\u4e00-\u9fff]")
NOT_PROSE = re.compile(r"`[^`]*`|\$\$[^$]*\$\$|\$[^$]*\$|\]\([^)]*\)|^    .*$|Python 3.11", re.MULTILINE)
MEASURED = re.compile(r"\d+\.\d{2,}|\d+(\.\d+)?e-\d+|\d+(\.\d+)? ?%|\d+ ?(ms|seconds|毫秒|秒)")


@functools.cache
def cells(lang: str) -> dict[str, dict]:
    """Cell id -> the cell."""
    return {cell["id"]: cell for cell in json.loads(notebook(lang))["cells"]}


@pytest.mark.parametrize("assignment", LANGUAGE)
def test_notebooks_are_what_the_texts_give(assignment: str):
    file = SOURCE / assignment / notebook_of(assignment)
    assert file.read_text("utf-8") == notebook(LANGUAGE[assignment]), "run python -m grader lesson"


def test_languages_differ_in_prose_alone():
    en, zh = cells("en"), cells("zh")
    assert list(en) == list(zh)
    for name, cell in en.items():
        other = zh[name]
        assert {**cell, "source": None} == {**other, "source": None}
        if cell["cell_type"] == "code":
            lines = zip(cell["source"], other["source"], strict=True)
            assert [line for line in lines if line[0] != line[1]] == (
                [('lang = "en"\n', 'lang = "zh"\n')] if name == "setup" else []
            )
        else:
            prose = ["".join(cell["source"]), "".join(other["source"])]
            assert CHINESE.search(prose[1])
            assert bool(CHINESE.search(prose[0])) == (name == "heat-map")
            assert len(set(re.findall(r"arxiv\.org/abs/[\d.]+", prose[0]))) == prose[1].count("arxiv.org")
            assert sorted(set(re.findall(r"TODO \d", prose[0]))) == sorted(
                set(re.findall(r"TODO \d", prose[1]))
            )


@pytest.mark.parametrize("lang", LANGUAGE.values())
def test_no_line_break_between_chinese_characters(lang: str):
    for name, cell in cells(lang).items():
        assert not re.search(r"[\u4e00-\u9fff，。、；：]\n *[\u4e00-\u9fff（“]", "".join(cell["source"])), (
            name
        )


@pytest.mark.parametrize("lang", LANGUAGE.values())
def test_measured_numbers_come_from_cells(lang: str):
    for name, cell in cells(lang).items():
        if cell["cell_type"] == "markdown" and not name.startswith(("ask-", "retrieval", "hands-on")):
            assert not MEASURED.search(NOT_PROSE.sub("", "".join(cell["source"]))), name


@pytest.mark.parametrize("lang", LANGUAGE.values())
def test_sections_are_those_that_reports_send_to(lang: str):
    names = list(cells(lang))
    starts = [names.index(name) for name in ("why", "formula", "mask", "multi-head", "hands-on")]
    assert starts == sorted(starts)
    for number, name in enumerate(("why", "formula", "mask", "multi-head"), start=1):
        heading = "".join(cells(lang)[name]["source"]).partition("\n")[0]
        assert heading.startswith(f"## {number}. " if lang == "en" else f"## {'一二三四'[number - 1]}、")
        assert text(f"report.section_{number}").say(lang).startswith(("section", "第"))
    for todo, section, end in (
        ("todo-scaling", "formula", "mask"),
        ("todo-mask", "mask", "multi-head"),
        ("todo-head-split", "multi-head", "hands-on"),
        ("todo-w-o", "todo-head-split", "hands-on"),
    ):
        assert names.index(section) < names.index(todo) < names.index(end)
        assert names[names.index(todo) + 1] == todo.replace("todo", "check")


@pytest.mark.parametrize("lang", LANGUAGE.values())
def test_every_question_has_a_cell_in_its_form(lang: str):
    found = cells(lang)
    words = {"number": ("number", "数"), "shape": ("shape", "shape"), "choice": ("choice", "选项")}
    for name, question in questions().items():
        asked = "".join(found[name.replace("quiz", "ask")]["source"])
        assert words[question.form][lang == "zh"] in asked
        assert asked.count("\n- ") == (4 if question.form == "choice" else 0)
        assert question.outcome("".join(found[name]["source"])) == "unanswered"


@pytest.mark.parametrize(
    ("file", "old", "new", "reason"),
    [
        ("cells.py", 'id="why"', 'id="whi"', "whi, why"),
        ("cells.py", 'id="why"', 'id="setup"', "there twice: setup"),
        ("cells.py", 'id="why"', "", "no id"),
        ("cells.py", 'lang = "en"', "lang = None", "not exactly one cell"),
        ("en.md", "<!-- why -->", "<!-- intro -->", "en.md: .* twice"),
        ("en.md", "<!-- intro -->", "Hello\n<!-- intro -->", "above the first id"),
    ],
)
def test_texts_that_make_no_notebook(file: str, old: str, new: str, reason: str, tmp_path: Path):
    shutil.copytree(LESSON, tmp_path / "lesson")
    changed = tmp_path / "lesson" / file
    changed.write_text(changed.read_text("utf-8").replace(old, new), "utf-8")
    with pytest.raises(LessonError, match=reason):
        notebook("en", tmp_path / "lesson")
