"""The zip file that is uploaded to Gradescope: the judge with its hidden checks, and nothing else."""

import zipfile
from pathlib import Path

from grader.stub import ROOT

_SCRIPTS = ("setup.sh", "run_autograder")
_KINDS = {".py", ".toml", ".html", ".css", ".js"}
_LEFT_OUT = {"nbgrader_plugin", "__pycache__"}
_TIME = (1980, 1, 1, 0, 0, 0)  # the same files make the same zip


def write_zip(file: Path, root: Path = ROOT) -> int:
    """Write the autograder. -> how many files are in it. OSError."""
    here = Path(__file__).parent
    found = {name: (here / name, 0o755) for name in _SCRIPTS}
    found["requirements.txt"] = (root / "requirements.txt", 0o600)
    for path in sorted((root / "grader").rglob("*")):
        inner = path.relative_to(root)
        if path.is_file() and path.suffix in _KINDS and not _LEFT_OUT & set(inner.parts):
            found[inner.as_posix()] = (path, 0o600)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, (path, mode) in found.items():
            entry = zipfile.ZipInfo(name, _TIME)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            bundle.writestr(entry, path.read_bytes())
    return len(found)
