"""The files that a student gets beside the notebook, and the proof that none of them is the instructor's.

The grader's part is an allow list that is worked out: what the public checks, the worker of `--isolated`
and `python -m grader watch` import, and what those import, and nothing else. A new file of the instructor's
stays out without being named anywhere.
"""

import ast
import re
from pathlib import Path, PurePosixPath

from grader.judge.score import TIERS
from grader.nbgrader_plugin.assignments import EXERCISE
from grader.nbgrader_plugin.quiz import questions
from grader.stub import ROOT, SOLUTION, stub_of

_START = (
    "grader/conftest.py",
    "grader/pytest_options.py",
    "grader/__main__.py",
    "grader/watch.py",
    "grader/reports/notebook.py",
    "grader/isolation/boot.py",
    "grader/isolation/submission.py",
    "grader/reports/notebook.py",
    *(f"grader/{tier.module}.py" for tier in TIERS),
    "student/attention_from_scratch.py",
    "student/figures.py",
)
_LOADED_BY_NAME = (  # no import tells of these
    "grader/judge/catalogue/*.py",
    "grader/judge/messages/*.toml",
    "grader/reports/messages/*.toml",
    "grader/reports/templates/*.*",
)
_AS_THEY_ARE = ("pyproject.toml", "requirements.txt", "student/fonts/*.otf", "student/fonts/OFL.txt")
_README = {lang: f"grader/nbgrader_plugin/student_readme.{lang}.md" for lang in ("en", "zh")}
_PRIVATE = re.compile(
    r"(^|/)(hidden|solutions?|tests?|corpus|classroom|nbgrader_plugin|assignments|\.git)(/|$)"
    r"|(^|/)(doctor|stub)\.py$|\.(pyc|db|csv)$|seed"
)
_SOLUTION = re.compile(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", flags=re.DOTALL)


class KitError(Exception):
    """A release would be incomplete, or would hold what no student may see."""


def kit(lang: str, root: Path = ROOT) -> dict[str, bytes]:
    """The path in the release -> the content of every file but the notebook. KitError."""
    files = {path: _read(root, path) for path in _imported(root)}
    for pattern in (*_LOADED_BY_NAME, *_AS_THEY_ARE):
        found = sorted(root.glob(pattern))
        if not found:
            raise KitError(f"{pattern}: no such file, and a release needs it")
        for path in (file.relative_to(root).as_posix() for file in found):
            files[path] = _read(root, path)
    files[EXERCISE] = stub_of(SOLUTION.read_text(encoding="utf-8")).encode()
    files["README.md"] = _read(root, _README[lang])
    secrets = secrets_in(files)
    if secrets:
        raise KitError("not for students: " + "; ".join(secrets))
    return dict(sorted(files.items()))


def secrets_in(files: dict[str, bytes]) -> list[str]:
    """What of these files is the instructor's: a line for each, with the reason."""
    return [f"{path}: {reason}" for path, content in files.items() for reason in _reasons(path, content)]


def _reasons(path: str, content: bytes) -> list[str]:
    reasons = []
    if _PRIVATE.search(path) or PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
        reasons.append("the path of an instructor's file")
    flat = _flat(content.decode("utf-8", "replace"))
    if re.search(r"### (BEGIN|END) (SOLUTION|HIDDEN TESTS|MARK SCHEME)", flat):
        reasons.append("a region that nbgrader should have cut out")
    found = sum(body in flat for body in _solutions())
    # the fault dictionary alters right formulas, and one of them is one line, word for word the solution's
    if found > (1 if path.startswith("grader/judge/") else 0):
        reasons.append("a solution")
    if any(body in flat for body in _hidden_checks()):
        reasons.append("a hidden check")
    if any(_flat(why) in flat for question in questions().values() for why in question.why.values()):
        reasons.append("an explanation of an answer")
    return reasons


def _solutions() -> list[str]:
    bodies = [_flat(body) for body in _SOLUTION.findall(SOLUTION.read_text(encoding="utf-8"))]
    if not bodies:
        raise KitError(f"{SOLUTION.name} has no solution regions to look for")
    return bodies


def _hidden_checks() -> list[str]:
    bodies = []
    for file in sorted((ROOT / "grader" / "hidden").glob("test_*.py")):
        text = file.read_text(encoding="utf-8")
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                bodies.append(_flat(ast.get_source_segment(text, node)))
    return bodies


def _flat(text: str) -> str:
    """Without what an editor may change: indents and line ends."""
    return " ".join(text.split())


def _read(root: Path, path: str) -> bytes:
    file = root / path
    if file.is_symlink() or not file.is_file():
        raise KitError(f"{path}: no regular file, and a release needs it")
    return file.read_bytes()


def _imported(root: Path) -> list[str]:
    """_START, and every file of ours that is imported from there, at the top or within a function."""
    found: dict[str, None] = {}
    ahead = list(_START)
    while ahead:
        path = ahead.pop()
        if path in found:
            continue
        found[path] = None
        for node in ast.walk(ast.parse(_read(root, path))):
            ahead += [file for name in _names(node) for file in _files(root, name)]
    return list(found)


def _names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []


def _files(root: Path, module: str) -> list[str]:
    """The file of a module of ours and the packages that it is in; nothing for other modules."""
    parts = module.split(".")
    if parts[0] not in ("grader", "student"):
        return []
    files = ["/".join([*parts[:n], "__init__.py"]) for n in range(1, len(parts) + 1)]
    return [file for file in [*files, "/".join(parts) + ".py"] if (root / file).is_file()]
