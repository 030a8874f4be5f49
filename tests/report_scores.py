"""Scores of submissions that are worth a look: nothing done, two mistakes, all right, hidden checks."""

import functools

from conftest import REFERENCE, body

from grader.judge.local import LocalSubmission
from grader.judge.score import Score
from grader.reports.class_report import as_dict as class_dict
from grader.reports.class_report import row_of, titles_of
from grader.reports.json_report import as_dict
from grader.run import grade
from grader.stub import STUDENT

SECRET = "f3a9c0ffee5eed"
UPSIDE_DOWN = body("causal_mask", "return torch.ones(length, length, dtype=torch.bool, device=device).triu()")
TOO_SMALL = body("attention_scores", "print('shape', query.shape)\nreturn query @ key.mT / query.shape[-1]")
TEXTS = {
    "0": STUDENT.read_text(encoding="utf-8"),
    "62": f"{REFERENCE}\n\n{UPSIDE_DOWN}\n\n{TOO_SMALL}",
    "100": REFERENCE,
}


@functools.cache
def score_of(folder: str, name: str, official: bool = False) -> Score:
    """The score of one of TEXTS, or of another text; official: with hidden checks and a secret seed."""
    file = f"{folder}/attention.py"
    with open(file, "w", encoding="utf-8") as stream:
        stream.write(TEXTS.get(name, name))
    return grade(file, SECRET if official else 0, LocalSubmission, official)


def class_of(scores: dict[str, Score], students: int, earlier: dict | None = None) -> dict:
    """The class.json of a class whose students have handed in these, by turns."""
    reports = [as_dict(score) for score in scores.values()]
    rows = [row_of(f"student-{n:04d}", reports[n % len(reports)]) for n in range(students)]
    titles = functools.reduce(dict.__or__, map(titles_of, reports))
    return class_dict(rows, ["'notes.txt': no submission"], SECRET, reports[0]["checks"], titles, earlier)
