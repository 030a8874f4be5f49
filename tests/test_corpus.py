"""The judge on the whole corpus: no wrong case escapes, no right one fails, mistakes are called by name."""

import pytest
from kill_matrix import NAMED, judge_all

from tests.corpus import right_cases, wrong_cases


@pytest.fixture(scope="module")
def wrong():
    return judge_all(wrong_cases())


def test_the_corpus_is_large_and_its_names_are_unique():
    cases = [*wrong_cases(), *right_cases()]
    assert len(wrong_cases()) >= 110
    assert len(right_cases()) >= 60
    assert len({case.name for case in cases}) == len(cases)


def test_every_wrong_case_is_caught(wrong):
    assert [verdict.case.name for verdict in wrong if not verdict.caught] == []


def test_what_values_show_is_blamed_on_the_right_todo(wrong):
    astray = [
        verdict.case.name for verdict in wrong if verdict.case.shown_by == "value" and not verdict.blamed
    ]
    assert astray == []


def test_what_values_show_is_called_by_name(wrong):
    by_value = [verdict for verdict in wrong if verdict.case.shown_by == "value"]
    unnamed = [verdict.case.name for verdict in by_value if not verdict.named]
    assert len(unnamed) <= (1 - NAMED) * len(by_value), unnamed


def test_a_softmax_in_float32_loses_tier_4_and_nothing_else(wrong):
    inside = [verdict for verdict in wrong if verdict.case.name == "softmax-in-float32"]
    assert [share < 1 for verdict in inside for share in verdict.tiers] == [False, False, False, True, False]


def test_every_right_case_earns_all():
    verdicts = judge_all(right_cases(), seeds=(3,), official=True)  # the public checks are among them
    assert [(verdict.case.name, verdict.score) for verdict in verdicts if verdict.score != 100] == []
