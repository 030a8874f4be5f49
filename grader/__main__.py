"""The command line: python -m grader <command>; each command is a module with add_arguments and run."""

import argparse
import importlib
import sys
from pathlib import Path

COMMANDS = {
    "stub": ("grader.stub", "write student/attention.py anew from solutions/attention.py"),
    "class": ("grader.classroom.command", "grade a folder of submissions"),
    "gradescope": ("grader.gradescope.command", "make an autograder for Gradescope"),
    "watch": ("grader.watch", "grade a file at each save"),
    "lesson": ("grader.nbgrader_plugin.lesson", "make the course's notebooks from assignments/lesson"),
    "prepare": ("grader.nbgrader_plugin.prepare", "put submissions placed by hand in order for nbgrader"),
    "doctor": ("grader.doctor", "say whether grading can be trusted here"),
}


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m grader", description="Attention from scratch")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    for name, (module_name, summary) in COMMANDS.items():
        if not _is_here(module_name):
            continue  # an instructor's command, in a student's copy
        commands.add_parser(name, help=summary, add_help=False)
    chosen, rest = parser.parse_known_args(arguments)
    module_name, summary = COMMANDS[chosen.command]
    module = importlib.import_module(module_name)  # only now: most need torch, and take a second
    parser = argparse.ArgumentParser(prog=f"python -m grader {chosen.command}", description=summary)
    module.add_arguments(parser)
    try:
        return module.run(parser.parse_args(rest))
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130


def _is_here(module_name: str) -> bool:
    return Path(__file__).parent.joinpath(*module_name.split(".")[1:]).with_suffix(".py").is_file()


if __name__ == "__main__":
    raise SystemExit(main())
