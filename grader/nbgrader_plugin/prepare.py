"""python -m grader prepare: puts submissions that came by another way than `nbgrader collect` in order."""

import argparse
from pathlib import Path

from grader.nbgrader_plugin.assignments import LANGUAGE
from grader.nbgrader_plugin.intake import NOTES_FILE, aside_of, notes_of, prepare, submissions
from grader.stub import ROOT


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument(
        "--course", type=Path, default=ROOT / "assignments", metavar="DIR", help="default: assignments"
    )


def run(options: argparse.Namespace) -> int:
    """Prepare every submission; 1 if one could not be, 2 if there is none."""
    course = options.course.resolve()
    folders = [folder for assignment in LANGUAGE for folder in submissions(course, assignment)]
    failed = changed = 0
    for folder in folders:
        try:
            changed += prepare(folder, aside_of(folder))
        except OSError as error:
            failed += 1
            print(f"{_name(folder)}: {error}")
            continue
        for note in notes_of(folder):
            print(f"{_name(folder)}: {note} ({NOTES_FILE})")
    print(f"{len(folders)} submissions, {changed} put in order; what they were is in set_aside")
    if not folders:
        print(f"nothing at {options.course}/submitted/<student>/<assignment>, for {' and '.join(LANGUAGE)}")
        return 2
    return 1 if failed else 0


def _name(folder: Path) -> str:
    return f"{folder.parent.name}/{folder.name}"
