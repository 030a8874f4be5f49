"""The command line: python -m grader stub."""

import argparse

from grader import stub


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m grader", description="Attention from scratch")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("stub", help="write student/attention.py anew from solutions/attention.py")
    parser.parse_args(arguments)
    stub.STUDENT.write_text(stub.stub_of(stub.SOLUTION.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"wrote {stub.STUDENT.relative_to(stub.ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
