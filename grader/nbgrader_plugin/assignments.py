"""The assignments of the course: one lesson, in two languages. A course may release either, or both."""

LANGUAGE = {"attention": "en", "attention-zh": "zh"}  # the name of an assignment is that of its notebook, too
EXERCISE = "student/attention.py"


def notebook_of(assignment: str) -> str:
    """The file name of an assignment's notebook."""
    return f"{assignment}.ipynb"
