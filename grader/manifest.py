"""The checks that a full run has: read off the test modules, not off what happened to run."""

import functools
import importlib
from collections.abc import Callable

from grader.judge.exercise import TODOS
from grader.judge.score import TIERS, Check

TIER_OF_MODULE = {f"grader.{tier.module}": tier.id for tier in TIERS}


@functools.cache
def checks() -> tuple[tuple[Check, Callable], ...]:
    """The public checks of all tiers in order, each with its function."""
    modules = [importlib.import_module(name) for name in TIER_OF_MODULE]
    functions = [
        item for module in modules for name, item in vars(module).items() if name.startswith("test_")
    ]
    return tuple((check_of(function), function) for function in functions)


def check_of(function: Callable) -> Check:
    """The entry of one check: its tier is its module's, its TODO and its weight are pytest marks."""
    marks = {mark.name: mark for mark in getattr(function, "pytestmark", [])}
    todo = next((todo.name for todo in TODOS if todo.marker in marks), None)
    weight = marks["weight"].args[0] if "weight" in marks else 1
    tier = TIER_OF_MODULE[function.__module__]
    return Check(function.__name__.removeprefix("test_"), tier, todo, "public", weight)
