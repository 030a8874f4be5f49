"""Checks and messages as a whole: each check says what it means, in two languages, with no loose ends."""

import ast
import inspect
import re
import string
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import terminal_run

import grader
from grader import manifest
from grader.judge.exercise import TODOS
from grader.judge.score import MAX_SCORE, TIERS
from grader.judge.text import LANGUAGES, catalogue

CHECKS = manifest.checks()
IDS = [check.id for check, _ in CHECKS]
GROUPS = sorted(catalogue("en"))
ENGLISH = {f"{group}.{key}": said for group, keys in catalogue("en").items() for key, said in keys.items()}
CHINESE = {f"{group}.{key}": said for group, keys in catalogue("zh").items() for key, said in keys.items()}


@pytest.mark.parametrize(("check", "function"), CHECKS, ids=IDS)
def test_a_check_says_what_it_means_in_one_short_paragraph(check, function):
    meaning = inspect.getdoc(function)
    assert "\n\n" not in meaning
    assert len(meaning) <= 200
    assert meaning.endswith(".")
    assert not set(meaning) & set("{}")  # it becomes a template
    chinese = CHINESE[f"checks.{check.id}"]
    assert "。" in chinese
    assert not set(chinese) & set("{}")


@pytest.mark.parametrize(("check", "function"), CHECKS, ids=IDS)
def test_a_check_belongs_to_one_todo_at_most_and_runs_once(check, function):
    marks = [mark.name for mark in getattr(function, "pytestmark", [])]
    assert sum(todo.marker in marks for todo in TODOS) <= 1
    assert set(marks) <= {
        "weight",
        *(todo.marker for todo in TODOS),
    }  # parametrize would be many checks in one
    assert check.weight > 0
    assert set(inspect.signature(function).parameters) <= {"student", "draw", "expect"}


def test_names_are_unique():
    assert len(set(IDS)) == len(IDS)


def test_pytest_collects_the_checks_of_the_manifest(tmp_path):
    screen = terminal_run("grader", "--collect-only", "-q", f"--report-dir={tmp_path}", columns=200)
    collected = [line.rpartition("::test_")[2] for line in screen.lines if "::" in line]
    assert collected == IDS


def test_points():
    assert [(tier.id, tier.points) for tier in TIERS] == [
        ("shape", 15),
        ("causality", 25),
        ("equivalence-1e-6", 25),
        ("equivalence-1e-16", 15),
        ("gradient-flow", 20),
    ]
    assert MAX_SCORE == 100


@pytest.mark.parametrize("tier", TIERS, ids=lambda tier: tier.id)
def test_every_todo_and_the_whole_have_checks_in_every_tier(tier):
    assert {check.todo for check, _ in CHECKS if check.tier == tier.id} == {
        None,
        *(todo.name for todo in TODOS),
    }


def placeholders(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}


def test_both_languages_have_the_same_messages_with_the_same_values():
    own = {key for key in CHINESE if key.startswith("checks.")}
    assert set(ENGLISH) == set(CHINESE) - own
    assert own == {f"checks.{name}" for name in IDS}
    for key in ENGLISH:
        assert placeholders(ENGLISH[key]) == placeholders(CHINESE[key]), key
    assert set(LANGUAGES) == {"en", "zh"}


def test_messages_are_in_their_language():
    for key, said in CHINESE.items():
        assert re.search(r"[\u4e00-\u9fff]", said), key
        assert not re.search(r"[\u4e00-\u9fff][,.:;?!]|[,;?!][\u4e00-\u9fff]", said), key  # full-width signs
    for key, said in ENGLISH.items():
        assert not re.search(r"[\u3000-\uffef]", said), key


# --- messages and the code that says them ---

ANYTHING = r"[\w-]+"  # what an f-string may put into a key


@dataclass(frozen=True)
class Use:
    """A message in the code: a pattern for its key, and the names of its values where the code tells them."""

    key: re.Pattern
    values: set[str] | None
    place: str


def strings(node: ast.AST) -> Iterator[ast.Constant | ast.JoinedStr]:
    """The strings below a node, f-strings as one."""
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        yield node
    else:
        for child in ast.iter_child_nodes(node):
            yield from strings(child)


def pattern(node: ast.Constant | ast.JoinedStr) -> str:
    """A regular expression for what a string may be."""
    if isinstance(node, ast.Constant):
        return re.escape(node.value)
    return "".join(pattern(part) if isinstance(part, ast.Constant) else ANYTHING for part in node.values)


def helpers(tree: ast.Module) -> dict[str, str]:
    """Functions that put a group before a key, such as _say(key, ...): text(f"report.{key}")."""
    found = {"text": "", "that": "seen."}  # Expect.that is called from the checks
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for node in strings(function):
                if re.fullmatch(r"\w+\\\.\[\\w-\]\+", pattern(node)) and "key" in ast.unparse(node):
                    found[function.name] = node.values[0].value
    return found


TREES = {
    str(file): ast.parse(file.read_text(encoding="utf-8"))
    for file in sorted(Path(grader.__file__).parent.rglob("*.py"))
}


def messages_said() -> Iterator[Use]:
    """Every call that says a message of a known group."""
    for place, tree in TREES.items():
        prefixes = helpers(tree)
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            name = getattr(call.func, "attr", getattr(call.func, "id", None))
            if name in prefixes:
                told = all(word.arg for word in call.keywords)
                values = {word.arg for word in call.keywords} if told else None
                place_of_key = 1 if name == "that" else 0
                for node in (node for part in call.args[place_of_key:][:1] for node in strings(part)):
                    key = re.escape(prefixes[name]) + pattern(node)
                    if re.match(rf"({'|'.join(GROUPS)})\\\.[A-Za-z]", key):
                        yield Use(re.compile(key), values, place)


def test_every_message_that_the_code_says_exists_and_gets_its_values():
    uses = list(messages_said())
    assert len(uses) > 50
    for use in uses:
        keys = [key for key in ENGLISH if use.key.fullmatch(key)]
        assert keys, use
        for key in keys:
            assert use.values is None or placeholders(ENGLISH[key]) <= use.values, (use, key)


def test_every_message_is_said_somewhere():
    said = {pattern(node) for tree in TREES.values() for node in strings(tree)}
    said |= {re.escape(tier.id.replace("-", "_")) for tier in TIERS}
    named = [key for key in said if ANYTHING in key and re.search("[a-z]{3}", key.replace(ANYTHING, ""))]
    families = [re.compile(key) for key in named if not key.endswith(f".{ANYTHING}")]
    for key in ENGLISH:
        name = key.partition(".")[2]
        assert said & {re.escape(name), re.escape(key)} or any(
            family.fullmatch(key) or family.fullmatch(name) for family in families
        ), key
