"""`python -m doctor.fleet` under torchrun, srun or mpirun: one rank. Also run by its path, in a Python that does not
have torchdoctor installed: then the package is loaded from where this file lies, and nothing else of its environment.

Standard library alone, for this is the target's own Python.
"""

import importlib.util
import os
import sys


def load_package() -> None:
    """Make `doctor` importable without putting its folder on sys.path, where other packages may lie beside it."""
    here = os.path.dirname(os.path.abspath(__file__))
    package = os.path.dirname(here)
    if sys.path and os.path.abspath(sys.path[0] or os.getcwd()) == here:
        del sys.path[0]
    spec = importlib.util.spec_from_file_location(
        "doctor", os.path.join(package, "__init__.py"), submodule_search_locations=[package]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["doctor"] = module
    spec.loader.exec_module(module)


if __name__ == "__main__":
    if sys.version_info < (3, 10):  # noqa: UP036 - it is started by the target's Python, whatever that is
        sys.exit("torchdoctor fleet: Python 3.10 or newer is needed, and this is %d.%d" % sys.version_info[:2])  # noqa: UP031
    if not __package__:
        load_package()
    from doctor.fleet.rank.agent import main

    sys.exit(main(sys.argv[1:]))
