"""Retrieval practice: what counts as an answer, and that nothing else does any harm."""

import pytest

from grader.nbgrader_plugin.quiz import LONGEST, questions, read

QUESTIONS = questions()
READ = {
    "number": {
        0.125: [
            "1/8",
            "0.125",
            ".125",
            "12.5%",
            "１／８",
            "０．１２５",
            "1 / 8",
            "`0.125`",
            "Answer: 1/8",
            "答：1/8",
        ],
        40000.0: [
            "40000",
            "40,000",
            "4e4",
            "40000.",
            "答案:４００００。",
            "= 40000",
            " \n40000\n",
            "\n" * 500 + "40000",
        ],
        -2.0: ["-2", "−2", "-2.0", "－２"],
        0.5: ["½", "≈ 0.5", "**0.5**", "$1/2$"],
    },
    "shape": {
        (2, 3): [
            "(2, 3)",
            "2,3",
            "[2, 3]",
            "2 3",
            "2x3",
            "2 × 3",
            "（2，3）",
            "２、３",
            "torch.Size([2, 3])",
        ],
        (4,): ["(4,)", "4", "answer: (4)"],
    },
    "choice": {"b": ["b", "B", "(b)", "b)", "b.", "Ｂ", "（B）。", "选 b", "选项B", "option b", "Answer: B"]},
}
UNREADABLE = {
    "number": [
        "eight",
        "8 steps",
        "1/0",
        "8 or 9",
        "1e999",
        "nan",
        "inf",
        "0x10",
        "2**3",
        "1_000",
        "三分之一",
    ],
    "shape": ["(2, 3.5)", "B, L", "(2, -3)", "2, 3 and 4", "9" * 30, "(2, (3,))"],
    "choice": ["e", "ab", "a or b", "all", "1", "не"],
}
HOSTILE = [
    "__import__('os').system('touch hacked')",
    "(" * 100_000 + ")" * 100_000,
    "9" * 5_000_000,
    "9**9**9**9",
    "1e99999999999999999",
    "1/" * 90 + "1",
    "\ud800\x00\x1b[31m",
    "<script>alert(1)</script>",
    "a\u202eb",
    "1," * 99,
    "ﷺ" * 200,  # one character that NFKC turns into eighteen
    "\u0661" * 100,
]


@pytest.mark.parametrize(
    ("form", "value", "answer"),
    [(form, value, answer) for form, found in READ.items() for value in found for answer in found[value]],
)
def test_read(form: str, value: object, answer: str):
    assert read(answer, form) == value


@pytest.mark.parametrize(
    ("form", "answer"), [(form, answer) for form, answers in UNREADABLE.items() for answer in answers]
)
def test_unreadable(form: str, answer: str):
    assert read(answer, form) is None


@pytest.mark.parametrize("answer", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("name", ["quiz-score", "quiz-scores-shape", "quiz-where-mask"])
def test_hostile(answer: str, name: str):
    question = QUESTIONS[name]
    outcome = question.outcome(answer)
    assert outcome in ("unreadable", "wrong")
    assert answer[:20] not in " ".join(question.feedback(outcome, "en"))


@pytest.mark.parametrize("answer", ["", " \n", "Answer:", "答：", "答:\n\n", "**Answer:**"])
def test_unanswered(answer: str):
    assert {question.outcome(answer) for question in QUESTIONS.values()} == {"unanswered"}


def test_whole_numbers_are_exact_and_others_may_be_rounded():
    outcomes = {answer: QUESTIONS["quiz-rnn-steps"].outcome(answer) for answer in ("99", "100", "99.1")}
    assert outcomes == {"99": "right", "100": "wrong", "99.1": "wrong"}
    outcomes = {
        answer: QUESTIONS["quiz-zero-score"].outcome(answer) for answer in ("1/3", "0.33", "0.3", "0")
    }
    assert outcomes == {"1/3": "right", "0.33": "right", "0.3": "wrong", "0": "wrong"}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_takes_its_own_answer_and_explains_it(name: str):
    question = QUESTIONS[name]
    assert question.outcome(f"Answer: {question.right}") == "right"
    assert question.outcome("x" * LONGEST) == "unreadable"
    for lang in ("en", "zh"):
        texts = {outcome: question.feedback(outcome, lang) for outcome in ("right", "wrong", "unanswered")}
        assert len({verdict for verdict, _ in texts.values()}) == 3
        assert {why for _, why in texts.values()} == {question.why[lang]}


@pytest.mark.parametrize(
    ("name", "shown"),
    [("quiz-parameters", "40000"), ("quiz-zero-score", "0.33"), ("quiz-scores-shape", "(2, 5, 7)")],
)
def test_the_right_answer_is_shown_as_one_writes_it(name: str, shown: str):
    assert QUESTIONS[name].feedback("wrong", "en")[0] == f"Not right. The answer is {shown}."
    assert QUESTIONS[name].outcome(shown) == "right"


def test_answers_are_those_of_the_formulas():
    right = {name: question.right for name, question in QUESTIONS.items()}
    assert right["quiz-rnn-steps"] == 100 - 1
    assert right["quiz-scores-shape"] == (2, 5, 7)
    assert right["quiz-deviation"] == 64**0.5
    assert right["quiz-score"] == (1 * 3 + 2 * 1 + 0 * 5 + 1 * 1) / 4**0.5
    assert right["quiz-zero-score"] == pytest.approx(1 / 3)
    assert right["quiz-mask-count"] == sum(range(1, 7))
    assert right["quiz-d-head"] == 768 / 12
    assert right["quiz-split-shape"] == (4, 8, 10, 96 // 8)
    assert right["quiz-parameters"] == 4 * 100**2
    assert len(right) >= 12
