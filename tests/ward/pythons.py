"""Build the odd Pythons of the ward from a source tree of CPython, into the store's folder pythons/.

python -m tests.ward.pythons SOURCE [--zlib SOURCE_OF_ZLIB]

SOURCE is an unpacked release of CPython 3.13. Three are made: free-threaded (3.13t), on musl (3.13-musl: needs musl-gcc
and a source tree of zlib), of 32 bit (3.13-i686: needs gcc -m32 and a 32-bit zlib). Each takes some minutes. They lack
what the beds don't ask for: ssl, ctypes, curses.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.ward.store import Store

LEFT_OUT = (
    "_ctypes", "_ssl", "_hashlib", "_sqlite3", "_lzma", "_bz2", "_curses", "_curses_panel", "_uuid", "_tkinter", "_dbm",
    "_gdbm", "readline",
)  # fmt: skip
WITHOUT = tuple(f"py_cv_module_{name}=n/a" for name in LEFT_OUT)
# configure compares what the compiler says of itself with what its C library is.
MUSL_GCC = '#!/bin/sh\nif [ "$1" = --print-multiarch ]; then echo x86_64-linux-musl; else exec musl-gcc "$@"; fi\n'


def kinds(folder: Path, zlib: Path | None) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(name, what configure is told)."""
    yield "3.13t", ("--disable-gil",)
    yield "3.13-i686", ("--build=i686-linux-gnu", "CC=gcc -m32", *WITHOUT)
    if zlib:
        compiler = folder / "musl-gcc"
        compiler.write_text(MUSL_GCC)
        compiler.chmod(0o755)
        built = folder / "zlib"
        shutil.copytree(zlib, built)
        run(["./configure", "--static"], built, CC="musl-gcc")
        run(["make", "libz.a"], built)
        where = (f"ZLIB_CFLAGS=-I{built}", f"ZLIB_LIBS={built}/libz.a")
        yield "3.13-musl", (f"CC={compiler}", *where, *WITHOUT)


def run(argv: list[str], folder: Path, **variables: str) -> None:
    with (folder / "log").open("w") as log:
        done = subprocess.run(argv, cwd=folder, env={**os.environ, **variables}, stdout=log, stderr=log, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(argv)}: {(folder / 'log').read_text()[-600:]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("--zlib", type=Path)
    options = parser.parse_args()
    pythons = Store.configured().folder / "pythons"
    with tempfile.TemporaryDirectory() as name:
        for kind, told in kinds(Path(name), options.zlib and options.zlib.resolve()):
            if (pythons / kind / "bin" / "python3").exists():
                continue
            build = Path(name) / kind
            build.mkdir()
            prefix = f"--prefix={pythons / kind}"
            run([str(options.source.resolve() / "configure"), prefix, "--disable-test-modules", *told], build)
            run(["make", f"-j{os.cpu_count()}"], build, CFLAGS="-O1")
            run(["make", "install"], build)
            print(kind)


if __name__ == "__main__":
    main()
