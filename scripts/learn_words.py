"""Learn from the labelled tickets which cause a text's words speak for: scripts/learn_words.py DIR… [--write]

Writes doctor/knowledge/tables/words.json, by which a text that nothing else explains is compared with the labelled
tickets (doctor/knowledge/words.py): one logistic regression a cause, against all others, over the words weighted by how
rare they are. Weights near zero are left out. A round of new tickets teaches nothing before its first run is recorded.
Needs scikit-learn: uv sync --group learn, or pip install --group learn.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import sys
from collections import Counter
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from doctor.knowledge.words import BIAS_UNIT, HEALTHY, RARITY_UNIT, WEIGHT_UNIT, terms_of  # noqa: E402
from scripts.count_causes import command  # noqa: E402
from scripts.tables import table_text  # noqa: E402

TABLE = ROOT / "doctor/knowledge/tables/words.json"
AT_LEAST, AT_MOST = 3, 0.5  # tickets with a term: at least so many, at most this share
STRENGTH = 30.0  # the inverse of the regularization; chosen on the eighth round, four fifths of it learned
WORTH = 0.25  # a smaller weight is left out

Ticket = tuple[str, str]  # (cause, text)


def labelled(collections: Iterable[Path]) -> list[Ticket]:
    """What there is to learn from in these folders, each ticket once, in a fixed order."""
    found: dict[tuple[str, str], Ticket] = {}
    for collection in sorted(collections):
        if collection.name.startswith("unseen") and not (collection / "first-run.json").is_file():
            continue
        for label in sorted(collection.rglob("case.json")):
            text = label.parent / "input.txt"
            if text.is_file():
                case = json.loads(label.read_text(encoding="utf-8"))
                said = text.read_text(encoding="utf-8", errors="replace")
                found.setdefault((case.get("source", str(label)), said[:100]), (case["cause"] or HEALTHY, said))
    return list(found.values())


def digest(tickets: Iterable[Ticket]) -> str:
    """What tells whether the table was learned from exactly these tickets."""
    made = hashlib.sha256()
    for cause, text in tickets:
        made.update(f"{cause}\0{text}\0".encode("utf-8", "replace"))
    return made.hexdigest()[:16]


def source(tickets: list[Ticket]) -> str:
    """What the table says of its origin."""
    return f"{len(tickets)} labelled tickets (tests/cases, {digest(tickets)}), learned by scripts/learn_words.py"


def learned(tickets: list[Ticket]) -> dict[str, Any]:
    """The content of the table."""
    text, linear, multiclass = (
        importlib.import_module(f"sklearn.{part}") for part in ("feature_extraction.text", "linear_model", "multiclass")
    )
    vectors = text.TfidfVectorizer(
        analyzer=lambda said: sorted(terms_of(said)), binary=True, min_df=AT_LEAST, max_df=AT_MOST
    )
    seen = vectors.fit_transform([said for _, said in tickets])
    regression = linear.LogisticRegression(C=STRENGTH, solver="liblinear", random_state=0)
    model = multiclass.OneVsRestClassifier(regression).fit(seen, [cause for cause, _ in tickets])
    number = Counter(cause for cause, _ in tickets)
    cited = {"sources": ["cases"], "status": "verified"}
    causes, terms = [], {term: {} for term in vectors.get_feature_names_out()}  # type: dict[str, dict[int, int]]
    for place, (cause, one) in enumerate(zip(model.classes_, model.estimators_, strict=True)):
        bias = round(float(one.intercept_[0]) * BIAS_UNIT)
        causes.append({"cause": str(cause), "tickets": number[cause], "bias": bias, **cited})
        for term, weight in zip(terms, one.coef_[0], strict=True):
            if abs(weight) >= WORTH:
                terms[term][place] = round(float(weight) * WEIGHT_UNIT)
    rarity = dict(zip(terms, vectors.idf_, strict=True))
    return {
        "schema": 1, "table": "words", "date": date.today().isoformat(), "sources": {"cases": source(tickets)},
        "causes": causes,
        "terms": [
            {"term": term, "rarity": round(float(rarity[term]) * RARITY_UNIT),
             "weights": " ".join(f"{place}:{weight}" for place, weight in weights.items())}
            for term, weights in terms.items()
        ],
    }  # fmt: skip


def rendered(collections: Iterable[Path]) -> str:
    """The table learned from the tickets in these folders, as text."""
    return table_text(learned(labelled(collections)))


if __name__ == "__main__":
    raise SystemExit(command(__doc__, TABLE, rendered))
