"""First file of the zygote: started by `python -I -B boot.py FD` with an empty environment.

It makes `grader` known without putting the repository on sys.path, where a submission could import from it.
"""

import importlib.util
import sys
from pathlib import Path


def _know_grader() -> None:
    package = Path(__file__).resolve().parents[1]
    spec = importlib.util.spec_from_file_location(
        "grader", package / "__init__.py", submodule_search_locations=[str(package)]
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules["grader"] = module
    spec.loader.exec_module(module)


if __name__ == "__main__":
    _know_grader()
    from grader.isolation.forkserver import main

    main(int(sys.argv[1]))
