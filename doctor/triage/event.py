"""An issue as GitHub's webhooks and its API give it. All of it was written by strangers: decoded within bounds, read as
evidence, never obeyed.

Source of the fields: docs.github.com, webhook events "issues" and "issue_comment", REST API "issues" (November 2026).
"""

from __future__ import annotations

from typing import Any

from doctor.decode import Refused, decode, encoded, fits, loads
from doctor.model.facts import Facts
from doctor.model.values import dataclass

MARKER = "<!-- torchdoctor:triage -->"  # the first line of our own comment
SIZE = 1 << 20  # bytes of an event: an issue's body has at most 65,536 characters
COMMENTS_AT_MOST = 50  # of the author, the first ones


@dataclass(frozen=True, kw_only=True)
class User:
    """Who wrote something. `type`: "User", "Bot", "Organization"."""

    login: str = ""
    type: str = ""


@dataclass(frozen=True, kw_only=True)
class Label:
    """A label that an issue has."""

    name: str = ""


@dataclass(frozen=True, kw_only=True)
class Comment:
    """A comment below an issue."""

    id: int | None = None
    body: str | None = None
    user: User | None = None


@dataclass(frozen=True, kw_only=True)
class Issue:
    """What is read of an issue."""

    number: int | None = None
    title: str | None = None
    body: str | None = None
    created_at: str | None = None
    user: User | None = None
    labels: tuple[Label, ...] = ()
    pull_request: object = None


@dataclass(frozen=True, kw_only=True)
class Event:
    """An issue with what is below it. `own`: our earlier comment; `said`: what its author added, oldest first."""

    issue: Issue
    own: Comment | None = None
    said: tuple[str, ...] = ()
    is_own: bool = False  # the event is about our own comment

    @property
    def evidence(self) -> tuple[tuple[str, bytes], ...]:
        """The texts of one machine, as doctor/evidence takes them."""
        texts = {"title": self.issue.title or "", "issue": self.issue.body or ""}
        texts |= {f"comment {number}": text for number, text in enumerate(self.said, 1)}
        return tuple((name, encoded(text)) for name, text in texts.items() if text.strip())

    @property
    def date(self) -> str | None:
        """The day on which it was opened, by which to judge."""
        day = (self.issue.created_at or "")[:10]
        return day if fits(Facts.__name__, "as_of", day) else None


def event_of(data: bytes, comments: bytes | None = None, *, login: str | None = None) -> Event:
    """The event of a webhook (or an issue of the API, alone), and the issue's comments as the API lists them. `login`:
    who we are; without it our comment is that of a bot. Refused where it is no issue."""
    said = loads(data, size=SIZE)
    if not isinstance(said, dict):
        raise Refused("it is not an object")
    about = said if "issue" not in said and "body" in said and "title" in said else said.get("issue")
    if not isinstance(about, dict):
        raise Refused("it has no issue")
    issue = decode(Issue, about)
    listed = _comments(comments)
    new = decode(Comment, said["comment"]) if isinstance(said.get("comment"), dict) else None
    every = [*listed, *([new] if new is not None and all(c.id != new.id for c in listed) else [])]
    author = issue.user.login if issue.user else ""
    own = next((c for c in every if _is_own(c, login)), None)
    added = [c.body for c in every if c.body and author and c.user and c.user.login == author and not _is_own(c, login)]
    return Event(
        issue=issue,
        own=own,
        said=tuple(added[:COMMENTS_AT_MOST]),
        is_own=new is not None and _is_own(new, login),
    )


def _comments(data: bytes | None) -> list[Comment]:
    if data is None:
        return []
    said: Any = loads(data)
    if not isinstance(said, list):
        raise Refused("it is not an array of comments")
    return [decode(Comment, one) for one in said]


def _is_own(comment: Comment, login: str | None) -> bool:
    """The marker alone proves nothing: whoever quotes our comment has it, too."""
    if not (comment.body or "").startswith(MARKER) or comment.user is None:
        return False
    return comment.user.login == login if login else comment.user.type == "Bot"
