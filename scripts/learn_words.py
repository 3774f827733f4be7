"""Learn from the labelled tickets which cause a text speaks for: scripts/learn_words.py DIR… [--write]

Writes doctor/knowledge/tables/words.json, by which a text that nothing else explains is compared with the labelled
tickets (doctor/knowledge/words.py): one logistic regression a cause, against all others, over the words and the traits
weighted by how rare they are, and by how often they tell: a label says why its cause is the right one, and words of the
ticket that are in this reason are those that a reader goes by. The reasons are learned from, too. A cause that a label
accepts beside its own counts as one. Texts about something else (tests/elsewhere) are one more cause. Weights near zero
are left out. A round of new tickets teaches nothing before its first run is recorded. Takes a minute or two. Needs
scikit-learn: uv sync --group learn, or pip install --group learn.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from doctor.accounting.symptoms import symptoms_of  # noqa: E402
from doctor.accounting.traits import MARK, traits_of  # noqa: E402
from doctor.evidence.read import read  # noqa: E402
from doctor.knowledge.words import (  # noqa: E402
    BIAS_UNIT,
    ELSEWHERE,
    END,
    FIELD,
    HEALTHY,
    PLACES,
    RARITY_UNIT,
    WEIGHT_UNIT,
    bucket,
    terms_of,
)
from doctor.model.finding import ASKS_ONLY  # noqa: E402
from scripts.count_causes import command  # noqa: E402
from scripts.tables import table_text  # noqa: E402
from scripts.tickets import Ticket, tickets_below  # noqa: E402

TABLE = ROOT / "doctor/knowledge/tables/words.json"
OTHER_TEXTS = ROOT / "tests/elsewhere/texts.jsonl"
AT_LEAST, AT_MOST = 3, 0.5  # tickets with a term: at least so many, at most this share
STRENGTH = 10.0  # the inverse of the regularization
RARE = 0.8  # a rare cause's tickets weigh more: the others' number over theirs, to this power
WORTH = 0.2  # a smaller weight is left out
REASONS = 0.5  # what a label's reason weighs as an example; a ticket weighs 1
TELLS_LEAST = 0.2  # what a term counts that is in no reason; one that is in each of them counts 1 more
TRAITS_TELL = 0.3  # the share of reasons that a trait is taken to be in: they are written in words
DOUBT = 2, 0.02  # so many tickets more are taken to have each term, and this share of them to name it as a reason
BUCKETS = 4096  # of terms (doctor/knowledge/words.py)


def terms_and_traits(ticket: Ticket) -> frozenset[str]:
    """What the text of a ticket is compared by."""
    seen = read((("input.txt", ticket.said),))
    return terms_of(seen.words) | traits_of(seen.facts, symptoms_of(seen.facts))


def learned_as(id: str) -> str:
    """A labelled cause as it is learned: that a text describes no fault says that nothing is wrong."""
    return HEALTHY if id == ASKS_ONLY else id


def accepted(ticket: Ticket) -> frozenset[str]:
    """The causes that its label counts as right."""
    return frozenset(map(learned_as, ticket.right))


def said_for(ticket: Ticket) -> str:
    """What a label says for its cause."""
    return str(ticket.label.get("why", ""))


def reason(ticket: Ticket) -> frozenset[str]:
    """The terms of what its label says for its cause."""
    return frozenset(term for term in terms_of(said_for(ticket)) if not term.startswith(PLACES))


def telling(terms: frozenset[str], reason: frozenset[str]) -> Iterator[str]:
    """The terms of a ticket of which every word is in the reason."""
    for term in terms:
        if all(word in reason for word in term.removeprefix(PLACES[0]).removeprefix(PLACES[1]).split(" ")):
            yield term


def labelled(collections: Iterable[Path]) -> list[Ticket]:
    """What there is to learn from in these folders, each ticket once, in a fixed order."""
    found: dict[tuple[str, bytes], Ticket] = {}
    for collection in sorted(collections):
        if collection.name.startswith("unseen") and not (collection / "first-run.json").is_file():
            continue
        for ticket in tickets_below([collection]):
            found.setdefault((ticket.label["source"], ticket.said[:100]), ticket)
    return list(found.values())


def elsewhere() -> list[Ticket]:
    """The texts that have nothing to do with torch, each as a ticket of that cause."""
    rows = map(json.loads, OTHER_TEXTS.read_text(encoding="utf-8").splitlines())
    label = {"cause": ELSEWHERE, "also": []}
    return [
        Ticket(OTHER_TEXTS.parent, f"{ELSEWHERE}/{place}", {**label, "source": row["source"]}, row["text"].encode(),
               OTHER_TEXTS)
        for place, row in enumerate(rows)
    ]  # fmt: skip


def digest(tickets: Iterable[Ticket]) -> str:
    """What tells whether the table was learned from exactly these tickets."""
    made = hashlib.sha256()
    for ticket in tickets:
        made.update(f"{' '.join(sorted(accepted(ticket)))}\0{said_for(ticket)}\0".encode() + ticket.said + b"\0")
    return made.hexdigest()[:16]


def source(tickets: list[Ticket]) -> str:
    """What the table says of its origin."""
    return f"{len(tickets)} labelled tickets (tests/cases, {digest(tickets)}), learned by scripts/learn_words.py"


def other_source(texts: list[Ticket]) -> str:
    """The same of the texts about something else."""
    return f"{len(texts)} texts about something else (tests/elsewhere, {digest(texts)})"


def fitted(seen: Any, has: Sequence[bool], weights: Sequence[float]) -> Any:
    """The regression of the examples that have a cause against those that do not."""
    rare = sum(weight for weight, one in zip(weights, has, strict=True) if one)
    balance = {False: 1.0, True: ((sum(weights) - rare) / rare) ** RARE}
    linear = importlib.import_module("sklearn.linear_model")
    made = linear.LogisticRegression(C=STRENGTH, solver="liblinear", random_state=0, class_weight=balance)
    made.fit(seen, has, sample_weight=weights)
    made.coef_[abs(made.coef_) < WORTH] = 0
    return made


class Model:
    """The regressions over tickets, each given as its terms. `rarity`: of each term that is known, by its place, what
    it counts: how rare it is times how much it tells."""

    def __init__(self, tickets: Sequence[Ticket], terms: Sequence[frozenset[str]]) -> None:
        text = importlib.import_module("sklearn.feature_extraction.text")
        self.vectors = text.TfidfVectorizer(analyzer=sorted, binary=True, min_df=AT_LEAST, max_df=AT_MOST, norm=None)
        self.vectors.fit(terms)
        self.causes = sorted({learned_as(ticket.label["cause"]) for ticket in tickets})
        reasons = [reason(ticket) for ticket in tickets]
        tells = self._tells(terms, reasons)
        self.rarity = self.vectors.idf_ * tells
        self._tells_of = importlib.import_module("scipy.sparse").diags(tells)
        seen = self.seen([*terms, *reasons])
        weights = [1.0] * len(terms) + [REASONS] * len(reasons)
        joblib = importlib.import_module("joblib")
        right = [accepted(ticket) for ticket in tickets] * 2  # of the tickets, then of their reasons
        has = ([cause in one for one in right] for cause in self.causes)
        self.regressions = joblib.Parallel(n_jobs=-1, max_nbytes=None)(
            joblib.delayed(fitted)(seen, one, weights) for one in has
        )

    def _tells(self, terms: Sequence[frozenset[str]], reasons: Sequence[frozenset[str]]) -> Any:
        """What each term counts for, from how often it is in the reason where it is in the ticket."""
        numpy = importlib.import_module("numpy")
        counts = Counter(term for one in terms for term in one)
        named = Counter(term for one, why in zip(terms, reasons, strict=True) for term in telling(one, why))
        more, share = DOUBT
        shares = [
            TRAITS_TELL if MARK in term else (named[term] + more * share) / (counts[term] + more)
            for term in self.vectors.get_feature_names_out()
        ]
        return TELLS_LEAST + numpy.sqrt(shares)

    def seen(self, terms: Sequence[frozenset[str]]) -> Any:
        """The examples as a matrix, each of length 1."""
        normalize = importlib.import_module("sklearn.preprocessing").normalize
        return normalize((self.vectors.transform(terms) @ self._tells_of).tocsr())

    def odds(self, terms: Sequence[frozenset[str]]) -> Iterator[tuple[str, float, int]]:
        """(cause, its odds from 0 to 1, number of the ticket) for every ticket and cause."""
        seen = self.seen(terms)
        for cause, regression in zip(self.causes, self.regressions, strict=True):
            for place, odds in enumerate(regression.predict_proba(seen)[:, 1]):
                yield cause, float(odds), place


def learned(tickets: list[Ticket]) -> dict[str, Any]:
    """The content of the table."""
    others = elsewhere()
    origin = {"cases": source(tickets), ELSEWHERE: other_source(others)}
    tickets = [*tickets, *others]
    terms = [terms_and_traits(ticket) for ticket in tickets]
    model = Model(tickets, terms)
    number = Counter(cause for ticket in tickets for cause in accepted(ticket))
    causes: list[Mapping[str, Any]] = []
    terms_known = list(model.vectors.get_feature_names_out())
    weights: dict[str, dict[int, int]] = {term: {} for term in terms_known}
    for place, (cause, one) in enumerate(zip(model.causes, model.regressions, strict=True)):
        bias = round(float(one.intercept_[0]) * BIAS_UNIT)
        cited = [ELSEWHERE if cause == ELSEWHERE else "cases"]
        counted = {"cause": cause, "tickets": number[cause], "bias": bias}
        causes.append({**counted, "sources": cited, "status": "verified"})
        for number_of_term in one.coef_[0].nonzero()[0]:
            weights[terms_known[number_of_term]][place] = round(float(one.coef_[0][number_of_term]) * WEIGHT_UNIT)
    buckets = [END] * BUCKETS
    for (term, said), rarity in zip(weights.items(), model.rarity, strict=True):
        pairs = " ".join(f"{place}:{weight}" for place, weight in said.items())
        buckets[bucket(term, BUCKETS)] += f"{term}{FIELD}{round(float(rarity) * RARITY_UNIT)}{FIELD}{pairs}{END}"
    return {
        "schema": 1, "table": "words", "date": date.today().isoformat(), "sources": origin,
        "causes": causes,
        "terms": [{"lines": lines} for lines in buckets],
    }  # fmt: skip


def rendered(collections: Iterable[Path]) -> str:
    """The table learned from the tickets in these folders, as text."""
    return table_text(learned(labelled(collections)), ascii=True)


if __name__ == "__main__":
    raise SystemExit(command(__doc__, TABLE, rendered))
