"""What a child said of importing torch, as facts: the dynamic ones, or how the import failed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from doctor.decode import Refused, check_shapes, decode_fields, fits
from doctor.model.facts import ABSENT, Facts, Gap, ImportFailure, Reason, Stage, Torch
from doctor.probes import limits
from doctor.probes.run import Run, crash_message, tail
from doctor.probes.said import Said, raised


def with_import(facts: Facts, run: Run) -> Facts:
    """The facts with what importing torch said. torch that is ABSENT stays so unless it imported all the same."""
    stage = run.stage("import")
    if run.refused:
        gap = Gap(fact="torch.imports", reason="unreadable", detail=run.ending(), source="import torch")
        return replace(facts, gaps=(*facts.gaps, gap))
    if stage and stage.ok:
        torch = facts.torch if isinstance(facts.torch, Torch) else Torch()
        said, odd = decode_fields(Said, _dynamic(run, stage))
        for name in [name for name, value in said.items() if not fits("Torch", name, value)]:
            odd[name] = f"it cannot be {str(said.pop(name))[:60]!r}"
        try:
            check_shapes(said.get("devices"), "devices")
        except Refused as error:
            del said["devices"]
            odd["devices"] = str(error)
        gaps = tuple(
            Gap(fact=f"torch.{name}", reason="unreadable", detail=f"refused: {why}", source="import torch")
            for name, why in odd.items()
        )
        torch = _imported(torch, said, stage.ms)
        return replace(facts, torch=torch, gaps=(*facts.gaps, *_gaps(run), *gaps))
    if stage and _is_missing(stage.data):
        return facts if facts.torch else replace(facts, torch=ABSENT)
    failure = import_failure(run)
    if failure and facts.torch is not ABSENT:
        torch = facts.torch or Torch()
        return replace(
            facts, torch=replace(torch, imports=False, import_failure=failure, warnings=_texts(stage, "warnings"))
        )
    if failure is None and run.result is not None:
        reason = {"timed-out": "timed-out", "not-found": "not-installed", "permission": "permission",
                  "flooded": "unreadable", "refused": "not-looked"}  # fmt: skip
        why = reason.get(run.result.status, "crashed")
        detail = run.ending() if run.open == "import" or run.cut_short or run.result.ok else run.result.said
        gap = Gap(fact="torch.imports", reason=why, detail=detail, source="import torch")  # type: ignore[arg-type]
        return replace(facts, gaps=(*facts.gaps, gap))
    return facts


def _is_missing(data: Mapping[str, Any]) -> bool:
    return data.get("exception") == "ModuleNotFoundError" and data.get("module") == "torch"


def _dynamic(run: Run, stage: Stage) -> dict[str, Any]:
    """All that the child said of torch."""
    said: dict[str, Any] = {**stage.data}
    for name in ("facts", "driver"):
        ended = run.stage(name)
        if ended and ended.ok:
            said.update(ended.data)
    return said


def _imported(torch: Torch, said: Mapping[str, Any], ms: float) -> Torch:
    known: dict[str, Any] = {
        key: said[key]
        for key in (
            "version", "git", "debug", "cuda_built", "mps_built", "cuda_available", "mps_available", "xpu_available",
            "numpy_works", "cpu_capability", "threads", "warnings", "arch_list", "loaded_libraries", "devices",
        )
        if said.get(key) is not None
    }
    for key in ("cuda", "hip", "xpu", "cuda_error", "numpy_error"):
        if key in said:
            known[key] = ABSENT if said[key] is None else said[key]
    if said.get("file"):
        known["path"] = os.path.dirname(said["file"])
    if "cudnn" in said and not said.get("cudnn_error"):
        known["cudnn"] = cudnn_version(said["cudnn"]) if said["cudnn"] else ABSENT
    return replace(torch, imports=True, import_failure=ABSENT, import_ms=ms, **known)


def cudnn_version(number: int) -> str:
    """cuDNN's number as its version.

    >>> cudnn_version(90100), cudnn_version(8902), cudnn_version(7605)
    ('9.1.0', '8.9.2', '7.6.5')
    """
    major = 10000 if number >= 90000 else 1000
    return f"{number // major}.{number % major // 100}.{number % 100}"


def _gaps(run: Run) -> Iterator[Gap]:
    """Why facts are missing though torch imported."""
    source = "import torch"
    driver = run.stage("driver")
    if driver is None and run.result is not None:
        reason: Reason = "timed-out" if run.result.status == "timed-out" else "crashed"
        for name in ("devices", "cuda_available", "mps_available", "xpu_available", "cuda_error"):
            yield Gap(fact=f"torch.{name}", reason=reason, source=source, detail=run.ending())
    elif driver and not driver.ok:
        yield Gap(fact="torch.devices", reason="crashed", source=source, detail=str(driver.data.get("message")))
    elif driver and driver.data.get("cudnn_error"):
        yield Gap(fact="torch.cudnn", reason="crashed", source=source, detail=str(driver.data["cudnn_error"]))


def _texts(stage: Stage | None, key: str) -> tuple[str, ...] | None:
    values, _ = decode_fields(Said, dict(stage.data)) if stage else ({}, {})
    return (values.get(key) or ()) if stage else None


def import_failure(run: Run) -> ImportFailure | None:
    """How the import ended, where it did not succeed; None where it did, or where the child did not come so far."""
    stage, result = run.stage("import"), run.result
    if stage and not stage.ok:
        said = raised(stage.data)
        code = said.exit_code
        return ImportFailure(
            kind="exception" if code is None else "exit",
            message=said.message if code is None else exit_message(code),
            exception=said.exception,
            traceback=said.traceback,
            exit_code=code,
            stage="import",
        )
    if stage or result is None or run.open != "import" or run.cut_short:
        return None
    if result.status == "timed-out" and result.limit_s < limits.IMPORT_LIMIT_S:
        return None  # the user's limit: a healthy torch may need longer
    kind = {"timed-out": "timed-out", "crashed": "signal"}.get(result.status, "exit")
    message = {
        "timed-out": f"import torch did not end within {result.limit_s:g} s",
        "signal": run.ending() if result.signal == 9 else crash_message(result),
        "exit": exit_message(result.exit_code),
    }[kind]
    return ImportFailure(
        kind=kind,  # type: ignore[arg-type]
        message=message,
        traceback=tail(result.stderr),
        exit_code=result.exit_code,
        signal=result.signal,
        stage="import",
    )


def exit_message(code: int | None) -> str:
    """How an import that ended the program is told."""
    return f"importing torch ended the program with exit code {code}"
