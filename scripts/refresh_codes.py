"""The numbers and names of tables/codes.json, anew from the public enumerations.

refresh_codes.py FOLDER            what the files in FOLDER have and the table lacks; exit 1 if anything
refresh_codes.py FOLDER --write    add it; a new code is of the class "unclassified" until somebody gives it another

FOLDER holds the makers' files under their own names, at any depth: driver_types.h and cuda.h (CUDA), nvml.h, nverror.h
(open-gpu-kernel-modules), nccl.h, cudnn_graph.h, cycublas.pxd, cycufft.pxd, cycusolver.pxd, cycusparse.pxd and
cycurand.pxd (nvmath-python), hip_runtime_api.h, hsa.h and hsa_ext_amd.h (ROCm), ze_api.h (Level Zero). Signals and
error numbers come from Python's own modules, on Linux. The others of the table have no public enumeration that can be
read by a program, and are kept by hand. Classes and sentences are never touched.
"""

from __future__ import annotations

import argparse
import errno
import json
import re
import signal
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "doctor" / "knowledge" / "tables" / "codes.json"
NEW = "unclassified"
_WIDTH = 118
Code = tuple[int, str]

# vocabulary -> ((file, start of the enumeration or "" for the whole file, expression of a name), …)
ENUMERATIONS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "cudaError_t": (("driver_types.h", r"enum (?:__device_builtin__ )?cudaError\b", r"cuda\w+"),),
    "CUresult": (("cuda.h", r"typedef enum cudaError_enum", r"CUDA_\w+"),),
    "nvmlReturn_t": (("nvml.h", r"typedef enum nvmlReturn_enum", r"NVML_\w+"),),
    "xid": (("nverror.h", "", r"(?!ROBUST_CHANNEL_(?:LAST|ERROR_RECOVERY))[A-Z]\w+"),),
    "ncclResult_t": (("nccl.h", r"typedef enum \{ ncclSuccess", r"nccl(?!NumResults)\w+"),),
    "cudnnStatus_t": (("cudnn_graph.h", r"typedef enum \{\s*CUDNN_STATUS_SUCCESS", r"CUDNN_STATUS_\w+"),),
    "cublasStatus_t": (("cycublas.pxd", r"ctypedef enum cublasStatus_t", r"CUBLAS_STATUS_\w+"),),
    "cufftResult": (("cycufft.pxd", r"ctypedef enum cufftResult", r"CUFFT_\w+"),),
    "cusolverStatus_t": (("cycusolver.pxd", r"ctypedef enum cusolverStatus_t", r"CUSOLVER_STATUS_\w+"),),
    "cusparseStatus_t": (("cycusparse.pxd", r"ctypedef enum cusparseStatus_t", r"CUSPARSE_STATUS_\w+"),),
    "curandStatus_t": (("cycurand.pxd", r"ctypedef enum curandStatus", r"CURAND_STATUS_\w+"),),
    "hipError_t": (("hip_runtime_api.h", r"typedef enum \w* ?hipError_t", r"hip(?!ErrorTbd)\w+"),),
    "hsa_status_t": (("hsa.h", "", r"HSA_STATUS_\w+"), ("hsa_ext_amd.h", "", r"HSA_STATUS_\w+")),
    "ze_result_t": (("ze_api.h", r"typedef enum _ze_result_t", r"ZE_RESULT_(?!FORCE)\w+"),),
}  # fmt: skip


def enumerated(text: str, start: str, name: str) -> Iterator[Code]:
    """(number, name) of a C enumeration, of #define lines, or of a Cython enumeration."""
    if start:
        found = re.search(start, text)
        if found is None:
            return
        text = text[found.start() :]
        text = re.split(r"\n\s*\}|\} *\w+;|\n\n", text, maxsplit=1)[0] if "ctypedef" in start else text.split("}", 1)[0]
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
    number = r"(-?(?:0x[0-9A-Fa-f]+|\d+))"
    entry = rf"\b({name})(?: +\"\w+\")?(?: +[A-Z_]+)?\s*=\s*{number}\b|^#define +({name})[ \t]+\({number}\)"
    for match in re.finditer(entry, text, re.M):
        yield int(match[2] or match[4], 0), match[1] or match[3]


def of_python() -> dict[str, list[Code]]:
    """Signals and error numbers of the system that runs this: Linux on x86-64 or Arm."""
    if not sys.platform.startswith("linux"):
        return {}
    signals = [(s.value, s.name) for s in signal.Signals if s.name not in ("SIGRTMIN", "SIGRTMAX")]
    return {"signal": signals, "errno": [(n, name) for name, n in vars(errno).items() if name[0] == "E"]}


def of_files(folder: Path) -> dict[str, list[Code]]:
    """What the files of the folder enumerate. Several files of one name (two releases of CUDA) are one enumeration."""
    found = of_python()
    for id, places in ENUMERATIONS.items():
        codes = [
            code
            for file, start, name in places
            for path in sorted(folder.rglob(file))
            for code in enumerated(path.read_text(encoding="utf-8", errors="replace"), start, name)
        ]
        if codes:
            found[id] = sorted(set(codes))
    return found


def merged(table: dict[str, Any], found: dict[str, list[Code]]) -> tuple[dict[str, Any], list[str]]:
    """The table with every code of the enumerations, and what is new, a line each. Nothing is taken out: an older
    release still uses what a newer one has dropped."""
    said = []
    for vocabulary in table["vocabularies"]:
        new = found.get(vocabulary["id"])
        if not new:
            continue
        codes = {(number, name): kind for number, name, kind in vocabulary["codes"]}
        for code in new:
            if code not in codes:
                codes[code] = NEW
                said.append(f"{vocabulary['id']}: {code[0]} {code[1]} is new")
        vocabulary["codes"] = [[*code, kind] for code, kind in sorted(codes.items(), key=lambda c: c[0])]
    return table, said


def as_text(table: dict[str, Any]) -> str:
    """The table's JSON: a class a line, codes in lines of limited length."""

    def packed(items: Iterable[str], indent: str) -> str:
        lines, line = [], indent
        for item in items:
            if len(line) + len(item) > _WIDTH and line.strip():
                lines.append(line.rstrip())
                line = indent
            line += item + ", "
        return "\n".join([*lines, line.rstrip()]).rstrip(",")

    def dumped(value: object) -> str:
        return json.dumps(value, ensure_ascii=False)

    def lines_of(values: Iterable[object], indent: str) -> str:
        return ",\n".join(indent + dumped(value) for value in values)

    out = [f'{{\n "schema": {table["schema"]}, "table": "codes", "date": {dumped(table["date"])},\n "sources": {{']
    out.append(",\n".join(f"  {dumped(k)}: {dumped(v)}" for k, v in table["sources"].items()))
    out.append(' },\n "classes": [\n' + lines_of(table["classes"], "  ") + '\n ],\n "vocabularies": [')
    pieces = []
    for vocabulary in table["vocabularies"]:
        head = {k: v for k, v in vocabulary.items() if k not in ("codes", "said", "words")}
        texts = {
            field: ",\n".join(f"    {dumped(k)}: {dumped(v)}" for k, v in vocabulary[field].items())
            for field in ("words", "said")
        }
        codes = packed((dumped(code) for code in vocabulary["codes"]), "    ")
        named = "".join(f'   "{field}": {{\n{text}\n   }},\n' for field, text in texts.items())
        pieces.append(f'  {dumped(head)[:-1]},\n{named}   "codes": [\n{codes}\n   ]}}')
    return "\n".join(out) + "\n" + ",\n".join(pieces) + "\n ]\n}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--date", help="of the table, when it is written: YYYY-MM-DD")
    options = parser.parse_args()
    if not options.folder.is_dir():
        parser.error(f"{options.folder} is not a folder")
    table, said = merged(json.loads(TABLE.read_text(encoding="utf-8")), of_files(options.folder))
    print("\n".join(said) or "Nothing is new.")
    if options.write:
        table["date"] = options.date or table["date"]
        TABLE.write_text(as_text(table), encoding="utf-8")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
