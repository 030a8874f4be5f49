"""The checks that a full run has: read off the test modules, not off what happened to run."""

import importlib
from collections.abc import Callable
from types import ModuleType

from grader.judge.exercise import TODOS
from grader.judge.score import TIERS, Check


def expected_checks() -> tuple[Check, ...]:
    """The public checks of all tiers, in order."""
    modules = [(tier.id, importlib.import_module(f"grader.{tier.module}")) for tier in TIERS]
    return tuple(check_of(function, tier) for tier, module in modules for function in functions_of(module))


def functions_of(module: ModuleType) -> list[Callable]:
    """The checks of a test module."""
    return [item for name, item in vars(module).items() if name.startswith("test_") and callable(item)]


def check_of(function: Callable, tier: str) -> Check:
    """The entry of one check: its TODO and its weight are pytest marks."""
    marks = {mark.name: mark for mark in getattr(function, "pytestmark", [])}
    todo = next((todo.name for todo in TODOS if todo.marker in marks), None)
    weight = marks["weight"].args[0] if "weight" in marks else 1
    return Check(function.__name__.removeprefix("test_"), tier, todo, "public", weight)
