"""What a student gets is cut from the reference, and nothing but the bodies is missing."""

import ast
import difflib
import re

import pytest
from conftest import REFERENCE, body

from grader import stub
from grader.__main__ import main
from grader.judge.exercise import FUNCTIONS, TODOS
from grader.stub import STUDENT, stub_of

STUB = STUDENT.read_text(encoding="utf-8")


def test_the_exercise_is_the_reference_with_its_solutions_cut_out():
    assert stub_of(REFERENCE) == STUB


def test_they_differ_in_the_regions_alone():
    regions = re.findall(
        r"^ *### BEGIN SOLUTION\n(?:.*\n)*?^ *### END SOLUTION$", REFERENCE, flags=re.MULTILINE
    )
    removed, added = [], []
    for line in difflib.ndiff(REFERENCE.splitlines(), STUB.splitlines()):
        if line.startswith("- "):
            removed.append(line[2:])
        elif line.startswith("+ "):
            added.append(line[2:])
    assert removed == "\n".join(regions).splitlines()
    assert len(added) == len(regions) == 5
    assert all(line.strip().startswith("raise NotImplementedError(") for line in added)


def test_five_bodies_behind_four_todos():
    numbers = re.findall(r'raise NotImplementedError\("TODO (\d) \(([^)]*)\): not filled in yet"\)', STUB)
    assert sorted(set(numbers)) == [(str(todo.number), todo.name) for todo in TODOS]
    unfilled = {
        function.name: function.body[-1].exc.args[0].value[:6]
        for function in ast.walk(ast.parse(STUB))
        if isinstance(function, ast.FunctionDef) and isinstance(function.body[-1], ast.Raise)
    }
    assert unfilled == {function: f"TODO {todo.number}" for todo in TODOS for function in todo.functions}


def test_every_todo_says_what_to_do_in_two_or_three_lines():
    for comment in re.findall(r"((?:^ +# .*\n)+)^ +raise NotImplementedError", STUB, flags=re.MULTILINE):
        lines = comment.splitlines()
        assert re.match(r" +# TODO \d \(", lines[0])
        assert 2 <= len(lines) <= 3


def test_names_and_signatures_are_those_that_the_judge_calls():
    functions = {node.name: node for node in ast.walk(ast.parse(STUB)) if isinstance(node, ast.FunctionDef)}
    for name, (arguments, _) in FUNCTIONS.items():
        own = [argument.arg for argument in functions[name].args.args if argument.arg != "self"]
        assert own == list(arguments)


def test_no_trace_of_the_solution_is_left():
    for trace in ("SOLUTION", "tril", "masked_fill", "softmax(scores", "unflatten", "math.sqrt("):
        assert trace not in STUB


@pytest.mark.parametrize(
    "text",
    [
        "x = 1\n",
        "# TODO 1 (mask): x\n### BEGIN SOLUTION\nx = 1\n",
        "# TODO 1 (mask): x\n### BEGIN SOLUTION\nx = 1\n### END SOLUTION\n### BEGIN SOLUTION\ny = 1\n",
        "# TODO 1 (mask): x\nx = 1\n### END SOLUTION\n",
        "### BEGIN SOLUTION\nx = 1\n### END SOLUTION\n",
        REFERENCE.replace("### END SOLUTION", "# end", 1),
        REFERENCE.replace("### BEGIN SOLUTION", "# begin", 1),
    ],
    ids=["no region", "unclosed", "second unclosed", "unopened", "no TODO", "end lost", "begin lost"],
)
def test_regions_that_would_leak_are_refused(text):
    with pytest.raises(ValueError, match="region"):
        stub_of(text)


def test_the_command_writes_the_exercise(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(stub, "ROOT", tmp_path)
    monkeypatch.setattr(stub, "STUDENT", tmp_path / "attention.py")
    assert main(["stub"]) == 0
    assert (tmp_path / "attention.py").read_text(encoding="utf-8") == STUB
    assert "attention.py" in capsys.readouterr().out


def test_body_of_the_tests_gives_a_function_of_the_same_signature():
    names = {node.name for node in ast.walk(ast.parse(body("forward", "pass"))) if hasattr(node, "name")}
    assert names == {"MultiHeadAttention", "forward"}
