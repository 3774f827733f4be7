"""`torchdoctor triage`: the answer to an issue, as JSON. It posts nothing; what is done with it is the caller's."""

from __future__ import annotations

import json
from typing import Any

import click

from doctor.cli import output
from doctor.cli.sources import read_source
from doctor.decode import Refused


@click.command()
@click.option("--event", required=True, metavar="FILE|-", help="The issue: a webhook's event, or the API's answer.")
@click.option("--comments", metavar="FILE", help="Its comments, as the API lists them: ours is edited.")
@click.option("--labels", metavar="FILE", help="Which labels an issue gets, by diagnosis, layer and verdict (JSON).")
@click.option("--login", metavar="NAME", help="Whose comment is ours. Default: that of a bot with our mark.")
@click.option("-o", "--output", "file", metavar="FILE", help="Write there, atomically, not to stdout.")
def command(event: str, comments: str | None, labels: str | None, login: str | None, file: str | None) -> int:
    """Answer an issue: print the comment, its labels and what to do with them as JSON. Nothing is posted.

    The issue is untrusted text: it is read as evidence, and nothing of it comes back in the comment but versions and
    models of GPUs. `action` is "create", "update" (with `comment_id`) or "none" (with `reason`).
    """
    from doctor.triage.event import Event, event_of
    from doctor.triage.labels import Labels, labels_of

    read: Event = _decoded(event, lambda data: event_of(data, _content(comments), login=login))
    mapping: Labels = _decoded(labels, labels_of) if labels else Labels()
    output.emit(json.dumps(answer_of(read, mapping), indent=2) + "\n", file)
    return 0


def answer_of(event: Any, labels: Any) -> dict[str, Any]:
    """What to do with an issue, and the comment."""
    from doctor.model.request import Request
    from doctor.pipeline import examine
    from doctor.triage.comment import answer_to

    said: dict[str, Any] = {
        "action": "none", "issue": event.issue.number, "comment_id": event.own.id if event.own else None, "body": None,
        "labels": [], "verdict": None, "findings": [], "question": None, "reason": "",
    }  # fmt: skip
    if event.issue.pull_request is not None:
        return {**said, "reason": "it is a pull request"}
    if event.is_own:
        return {**said, "reason": "the event is our own comment"}
    report = examine(Request(evidence=event.evidence or (("issue", b""),), as_of=event.date))
    answer = answer_to(report)
    if answer.body is None:
        return {**said, "verdict": report.verdict, "reason": answer.reason}
    has = {label.name for label in event.issue.labels}
    question = answer.question
    said |= {
        "body": answer.body,
        "labels": [label for label in labels.of(report, answer.named) if label not in has],
        "verdict": report.verdict,
        "findings": list(answer.named),
        "question": {"text": question.text, "command": question.command} if question else None,
    }
    if event.own is None:
        return {**said, "action": "create"}
    if (event.own.body or "").replace("\r\n", "\n").strip() == answer.body.strip():
        return {**said, "reason": "our comment says this already"}
    return {**said, "action": "update"}


def _content(name: str | None) -> bytes | None:
    return read_source(name)[1] if name else None


def _decoded(name: str, decode: Any) -> Any:
    content = _content(name) or b""
    try:
        return decode(content)
    except Refused as error:
        raise click.UsageError(f"'{name}': {error}.") from None
