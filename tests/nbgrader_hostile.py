"""Submissions that are broken or hostile, each with the score that it has earned and what is said of it.

A case is a function that spoils a good submission; its name is the student's.
"""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from conftest import REFERENCE, body

SCRIPT = "<script>alert('student')</script>"
EXIT = "import os\nos._exit(0)\n"


@dataclass(frozen=True)
class Case:
    """A way to spoil a submission; the notes and the status are as the exports have them."""

    spoil: Callable[[Path], object]
    score: float = 100.0
    status: str = "graded"
    notes: str = ""

    @property
    def student(self) -> str:
        """A name for who hands it in."""
        return self.spoil.__name__


CASES: list[Case] = []


def case(score: float = 100.0, status: str = "graded", notes: str = "") -> Callable:
    """Enter a case."""

    def enter(spoil: Callable[[Path], object]) -> Callable[[Path], object]:
        CASES.append(Case(spoil, score, status, notes))
        return spoil

    return enter


def notebook(folder: Path) -> Path:
    return folder / f"{folder.name}.ipynb"


def code(folder: Path) -> Path:
    return folder / "student" / "attention.py"


def edit(folder: Path, change: Callable[[dict], object]) -> None:
    """Change the notebook as JSON."""
    data = json.loads(notebook(folder).read_text("utf-8"))
    change(data)
    notebook(folder).write_text(json.dumps(data), "utf-8")


def cell(data: dict, grade_id: str) -> dict:
    return next(c for c in data["cells"] if c["metadata"]["nbgrader"]["grade_id"] == grade_id)


def tiers(data: dict) -> list[dict]:
    return [c for c in data["cells"] if c["metadata"]["nbgrader"]["grade_id"].startswith("tier-")]


def replace(file: Path, make: Callable[[Path], object]) -> None:
    shutil.rmtree(file) if file.is_dir() else file.unlink()
    make(file)


# The notebook.


@case()
def right(folder: Path) -> None:
    pass


@case(notes="notebook_missing")
def no_notebook(folder: Path) -> None:
    notebook(folder).unlink()


@case(notes="notebook_renamed")
def renamed_notebook(folder: Path) -> None:
    notebook(folder).rename(folder / "attention (1).ipynb")


@case(notes="notebook_missing")
def two_other_notebooks(folder: Path) -> None:
    shutil.copy(notebook(folder), folder / "Untitled.ipynb")
    notebook(folder).rename(folder / "Untitled1.ipynb")


@case()
def one_more_notebook(folder: Path) -> None:
    shutil.copy(notebook(folder), folder / "scratch.ipynb")


@case(notes="notebook_invalid")
def half_a_notebook(folder: Path) -> None:
    notebook(folder).write_bytes(notebook(folder).read_bytes()[:3000])


@case(notes="notebook_invalid")
def empty_notebook(folder: Path) -> None:
    notebook(folder).write_bytes(b"")


@case(notes="notebook_invalid")
def a_list_for_a_notebook(folder: Path) -> None:
    notebook(folder).write_text("[1, 2, 3]")


@case(notes="notebook_invalid")
def deep_notebook(folder: Path) -> None:
    notebook(folder).write_text('{"cells": ' + "[" * 200_000 + "]" * 200_000 + "}")


@case(notes="notebook_invalid")
def notebook_of_version_3(folder: Path) -> None:
    notebook(folder).write_text('{"worksheets": [{"cells": []}], "metadata": {}, "nbformat": 3}')


@case(notes="notebook_invalid")
def binary_notebook(folder: Path) -> None:
    notebook(folder).write_bytes(bytes(range(256)) * 40)


@case(notes="notebook_invalid")
def cells_that_are_a_number(folder: Path) -> None:
    edit(folder, lambda data: data.update(cells=7))


@case()
def cells_that_are_nonsense(folder: Path) -> None:
    junk = [None, 3, "x", [], {}, {"metadata": 1}, {"metadata": {"nbgrader": []}, "source": 5}]
    junk += [{"metadata": {"nbgrader": {"grade_id": ["reflection"]}}, "source": [1, None]}]
    edit(folder, lambda data: data["cells"].extend(junk))


@case()
def copied_tier_cells(folder: Path) -> None:
    edit(folder, lambda data: data["cells"].extend(tiers(data)))


@case()
def deleted_tier_cells(folder: Path) -> None:
    edit(folder, lambda data: [data["cells"].remove(c) for c in tiers(data)])


@case()
def tier_cells_worth_more(folder: Path) -> None:
    edit(folder, lambda data: [c["metadata"]["nbgrader"].update(points=1000) for c in tiers(data)])


@case(score=0.0)
def forged_outputs(folder: Path) -> None:
    output = {"output_type": "execute_result", "data": {"text/plain": "15.0"}, "metadata": {}}
    edit(folder, lambda data: [c.update(outputs=[output], execution_count=1) for c in tiers(data)])
    code(folder).write_text(REFERENCE.replace("return", "raise ValueError #"), "utf-8")


@case(score=0.0)
def cells_tagged_to_be_skipped(folder: Path) -> None:
    edit(folder, lambda data: [c["metadata"].update(tags=["skip-execution"]) for c in tiers(data)])
    code(folder).write_text(REFERENCE.replace("return", "raise ValueError #"), "utf-8")


@case(score=0.0)
def code_in_every_cell(folder: Path) -> None:
    edit(folder, lambda data: [c.update(cell_type="code", source="100.0") for c in data["cells"]])
    code(folder).write_text(REFERENCE.replace("return", "raise ValueError #"), "utf-8")


@case()
def exchanged_ids(folder: Path) -> None:
    def exchange(data: dict) -> None:
        first, second, *_ = (c["metadata"]["nbgrader"] for c in tiers(data))
        first["grade_id"], second["grade_id"] = second["grade_id"], first["grade_id"]

    edit(folder, exchange)


@case()
def flags_turned_round(folder: Path) -> None:
    flags = {"grade": False, "solution": True, "locked": False, "schema_version": 99}
    edit(folder, lambda data: [c["metadata"]["nbgrader"].update(flags) for c in data["cells"]])


@case()
def another_kernel(folder: Path) -> None:
    kernel = {"name": "../../evil", "display_name": SCRIPT, "language": "sh"}
    edit(folder, lambda data: data["metadata"].update(kernelspec=kernel))


@case()
def script_in_the_answer(folder: Path) -> None:
    edit(folder, lambda data: cell(data, "reflection").update(source=f"Because. {SCRIPT}\n\n</pre>{SCRIPT}"))


@case()
def answer_copied_and_turned_into_code(folder: Path) -> None:
    more = {"cell_type": "code", "metadata": {"nbgrader": {"grade_id": "reflection"}}, "source": ["a\n", "b"]}
    edit(folder, lambda data: data["cells"].append(more))


@case()
def answer_without_end(folder: Path) -> None:
    edit(folder, lambda data: cell(data, "reflection").update(source="\x1b[31m\ud800 word" * 100_000))


@case()
def code_in_the_quiz(folder: Path) -> None:
    def fill(data: dict) -> None:
        cell(data, "quiz-score").update(source="__import__('os')._exit(0)")
        cell(data, "quiz-scores-shape").update(source="(" * 200_000)
        cell(data, "quiz-where-mask").update(source=f"d {SCRIPT}")
        cell(data, "quiz-mask-count").update(source="\ud800" + "9" * 3_000_000)
        cell(data, "quiz-passes").update(source=["Answer: ", "1"])

    edit(folder, fill)


@case(notes="notebook_odd")
def notebook_is_a_link(folder: Path) -> None:
    replace(notebook(folder), lambda file: file.symlink_to(folder.parents[2] / "gradebook.db"))


@case(notes="notebook_odd")
def notebook_is_a_folder(folder: Path) -> None:
    replace(notebook(folder), lambda file: file.mkdir())


@case(notes="notebook_odd")
def notebook_is_a_pipe(folder: Path) -> None:
    replace(notebook(folder), os.mkfifo)


@case(notes="notebook_odd")
def large_notebook(folder: Path) -> None:
    notebook(folder).write_bytes(b" " * 21_000_000)


# The code.


@case(score=0.0, status="unreadable")
def no_code(folder: Path) -> None:
    code(folder).unlink()


@case(score=0.0, status="unreadable")
def no_folder_student(folder: Path) -> None:
    shutil.rmtree(folder / "student")


@case(score=0.0, status="unreadable", notes="code_odd")
def link_to_the_solution(folder: Path) -> None:
    solution = folder.parents[3] / "solutions" / "attention.py"
    replace(code(folder), lambda file: file.symlink_to(solution))


@case(score=0.0, status="unreadable", notes="code_odd")
def folder_is_a_link_to_the_solutions(folder: Path) -> None:
    replace(folder / "student", lambda file: file.symlink_to(folder.parents[3] / "solutions"))


@case(score=0.0, status="unreadable", notes="code_odd")
def code_is_a_folder(folder: Path) -> None:
    replace(code(folder), lambda file: file.mkdir())


@case(score=0.0, status="unreadable", notes="code_odd")
def code_is_a_pipe(folder: Path) -> None:
    replace(code(folder), os.mkfifo)


@case(score=0.0, status="unreadable", notes="code_odd")
def folder_student_is_a_file(folder: Path) -> None:
    replace(folder / "student", lambda file: file.write_text("x"))


@case(score=0.0, status="unreadable", notes="code_odd")
def large_code(folder: Path) -> None:
    code(folder).write_text("# " + "x" * 3_000_000)


@case(score=0.0, status="unreadable")
def code_somewhat_too_large(folder: Path) -> None:
    code(folder).write_text(REFERENCE + "\n# " + "x" * 1_200_000)


@case(score=0.0, status="unreadable")
def code_in_another_encoding(folder: Path) -> None:
    code(folder).write_bytes(REFERENCE.encode() + b"\n# \xff\xfe\n")


@case(score=0.0, status="unreadable")
def no_python(folder: Path) -> None:
    code(folder).write_text(f"def {SCRIPT}(:\n")


@case(score=0.0, status="unreadable")
def deep_code(folder: Path) -> None:
    code(folder).write_text("x = " + "-" * 100_000 + "1\n")


@case(notes="code_misplaced")
def code_beside_the_notebook(folder: Path) -> None:
    code(folder).rename(folder / "attention.py")


@case()
def files_that_shadow(folder: Path) -> None:
    for name in ("torch.py", "conftest.py", "sitecustomize.py", "pytest.ini", "numpy.py", "intake.json"):
        (folder / name).write_text(EXIT)
        (folder / "student" / name).write_text(EXIT)
    for name in ("grader", ".git", "report", "nbgrader_config.py.d"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(EXIT)
    (folder / "nbgrader_config.py").write_text(EXIT)
    (folder / "loop").symlink_to(folder)


@case(score=0.0, status="crashed")
def ends_the_process(folder: Path) -> None:
    code(folder).write_text(EXIT)


@case(score=0.0, status="timeout")
def never_loads(folder: Path) -> None:
    code(folder).write_text("while True:\n    pass\n")


@case(score=0.0)
def raises_markup(folder: Path) -> None:
    code(folder).write_text(REFERENCE.replace("return", f'raise ValueError("{SCRIPT}") #'), "utf-8")


@case(score=40.0, status="forbidden")
def ready_made(folder: Path) -> None:
    own = "def scaled_dot_product_attention(query, key, value, mask=None):\n    w = attention_weights("
    own += "attention_scores(query, key), mask)\n    return F.scaled_dot_product_attention(query, key, value,"
    code(folder).write_text(f"{REFERENCE}\nimport torch.nn.functional as F\n{own} attn_mask=mask), w\n")


@case()
def looks_around(folder: Path) -> None:
    course = folder.parents[2]
    look = f"""
import os, sqlite3
reached = []
for path in ("gradebook.db", "secret_seed", "source", "submitted", "../solutions/attention.py", "../grader"):
    path = {str(course)!r} + "/" + path
    try:
        reached.append(open(path, "rb").read() if "." in path[-4:] or "seed" in path else os.listdir(path))
        open(path, "r+b").write(b"0" * 4096)
    except OSError:
        pass
if reached or "ATTENTION_SEED" in os.environ or os.path.exists("/proc/1/environ"):
    raise SystemExit(str(reached))
"""
    code(folder).write_text(REFERENCE + look)


@case(score=0.0)
def a_mistake_in_every_part(folder: Path) -> None:
    wrong = [body(name, "raise RuntimeError") for name in ("causal_mask", "attention_scores")]
    wrong += [body(name, "raise RuntimeError") for name in ("attention_weights", "split_heads")]
    more = [body("combine_heads", "raise RuntimeError"), "def MultiHeadAttention(*a): raise RuntimeError\n"]
    more += [body("scaled_dot_product_attention", "raise RuntimeError")]
    code(folder).write_text("\n\n".join([REFERENCE, *wrong, *more]))


# The rest.


@case()
def no_timestamp(folder: Path) -> None:
    (folder / "timestamp.txt").unlink()


@case()
def timestamp_of_nothing(folder: Path) -> None:
    (folder / "timestamp.txt").write_text("the day after tomorrow")


@case()
def binary_timestamp(folder: Path) -> None:
    (folder / "timestamp.txt").write_bytes(b"\xff\x00" * 5000)


@case(score=0.0, status="unreadable", notes="notebook_missing")
def nothing_at_all(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


@case(score=0.0, status="unreadable", notes="notebook_missing")
def submission_is_a_link(folder: Path) -> None:
    replace(folder, lambda path: path.symlink_to(path.parents[3] / "solutions"))


@case(notes="notebook_missing")
def forged_notes(folder: Path) -> None:
    notebook(folder).unlink()
    (folder / "intake.json").write_text(json.dumps([SCRIPT, "code_odd", "notebook_missing"]))
