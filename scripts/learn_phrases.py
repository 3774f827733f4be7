"""Teach the network that reads phrases (doctor/knowledge/phrases.py): scripts/learn_phrases.py DIR… --model FOLDER
[--try] [--write]

Three steps. A language model is trained with the labelled tickets and the reasons of their labels. Then it says what it
thinks of 150,000 texts more, made of these tickets' sentences by leaving some out and by joining two
tickets. Then the small network learns to say the same of all of them (Hinton et al., Distilling the Knowledge in a
Neural Network, https://arxiv.org/abs/1503.02531). Before that all is done once with a fifth of the tickets left out:
they show what odds are worth, joined with those of the words (scripts/learn_words.py). Writes
doctor/knowledge/tables/phrases.json.

FOLDER holds model.safetensors and vocab.txt of all-MiniLM-L6-v2. Needs torch, a CUDA GPU for eleven minutes (H100), and
what learn_words.py needs. --try: a few steps on 200 tickets with whatever device there is, to see that all of it runs.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import importlib
import json
import math
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from doctor.evidence.read import read  # noqa: E402
from doctor.knowledge.phrases import GAP, PLACES, SENTENCE_PIECES, pieces_of, sentences_of  # noqa: E402
from doctor.knowledge.words import joined_odds  # noqa: E402
from scripts.learn_words import Model, accepted, labelled, learned_as, said_for, source, terms_and_traits  # noqa: E402
from scripts.tables import table_text  # noqa: E402
from scripts.tickets import Ticket  # noqa: E402

TABLE = ROOT / "doctor/knowledge/tables/phrases.json"
CREDIT = (
    "all-MiniLM-L6-v2 (Apache License 2.0): the pieces of words, and the model that was trained with the tickets and "
    "that the network imitates"
)
LAYERS, HEADS, WIDTH, SEEN = 6, 12, 384, 320  # of the language model; pieces that it sees
ROUNDS, RATE, BATCH = 8, 2.5e-4, 64  # of its training
HEAD_FASTER = 5  # its last layer is new, and learns so much faster
REASONS = 0.5  # what the reason of a label weighs as an example; a ticket weighs 1
UNITS, DIMENSIONS = 512, 128  # of the network
MORE = 150_000  # texts that are made
IMITATES = 6, 2e-3, 192  # its rounds, rate and batch
DROPPED, FORGOTTEN = 0.2, 0.05  # units and pieces that are left out while it learns
PARTS = 5  # one of them is left out
STEPS = 20  # of odds for which their worth is counted
WHOLE = 32767  # the largest number of the layers

Sentences = Sequence[Sequence[int]]


@dataclass(frozen=True)
class Size:
    """How much is done."""

    more: int = MORE
    rounds: int = ROUNDS
    imitates: int = IMITATES[0]


class Examples:
    """The tickets as the models see them. `known`: the pieces of the language model that they use; `used`: where these
    stand among all."""

    def __init__(self, tickets: Sequence[Ticket], vocabulary: Sequence[str]) -> None:
        places = {piece: place for place, piece in enumerate(vocabulary)}
        texts = [tuple(sentences_of(read((("input.txt", one.said),)).words, places)) for one in tickets]
        reasons = [tuple(pieces_of(said_for(one), places))[: SENTENCE_PIECES + GAP] for one in tickets]
        special = [places[piece] for piece in ("[PAD]", "[UNK]", "[CLS]", "[SEP]")]
        used = {piece for text in texts for sentence in text for piece in sentence}
        self.used = sorted({*special, *used, *(piece for reason in reasons for piece in reason)})
        self.known = [vocabulary[place] for place in self.used]
        new = {old: place for place, old in enumerate(self.used)}
        self.starts, self.ends = new[special[2]], new[special[3]]
        self.texts: list[Sentences] = [[[new[p] for p in s] for s in text] or [[new[special[1]]]] for text in texts]
        self.reasons = [[new[piece] for piece in reason] for reason in reasons]
        self.causes = sorted({learned_as(one.label["cause"]) for one in tickets})
        self.right = [[float(cause in accepted(one)) for cause in self.causes] for one in tickets]


def weights(folder: Path) -> dict[str, Any]:
    """Name -> tensor of a .safetensors file: eight bytes of the header's length, the header as JSON, the numbers."""
    torch = importlib.import_module("torch")
    data = (folder / "model.safetensors").read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    found = {}
    for name, said in json.loads(data[8:start]).items():
        if said.get("dtype") == "F32":
            first, last = said["data_offsets"]
            numbers = torch.frombuffer(bytearray(data[start + first : start + last]), dtype=torch.float32)
            found[name] = numbers.reshape(said["shape"])
    return found


def batches(lengths: Sequence[int], size: int, chance: random.Random) -> Iterator[list[int]]:
    """All places in batches of similar length, in a random order."""
    order = sorted(range(len(lengths)), key=lambda place: (lengths[place] // 16, chance.random()))
    made = [order[place : place + size] for place in range(0, len(order), size)]
    chance.shuffle(made)
    yield from made


def descends(groups: Sequence[tuple[Sequence[Any], float]], steps: int) -> Callable[[Any], None]:
    """A step down of a loss: AdamW, a rate that rises over a tenth of the steps and falls to zero. groups: tensors and
    their rate."""
    torch = importlib.import_module("torch")
    down = torch.optim.AdamW([{"params": list(one), "lr": rate} for one, rate in groups], weight_decay=0.01)
    plan = torch.optim.lr_scheduler.LambdaLR(down, lambda n: min(1, 10 * n / steps) * max(0.0, 1 - n / steps))

    def step(loss: Any) -> None:
        down.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_([one for group, _ in groups for one in group], 1.0)
        down.step()
        plan.step()

    return step


class Teacher:
    """The language model (BERT's architecture), with a last layer for our causes."""

    def __init__(self, folder: Path, examples: Examples, device: str) -> None:
        self.torch = importlib.import_module("torch")
        self.device, self.examples = device, examples
        raw = weights(folder)
        raw["embeddings.word_embeddings.weight"] = raw["embeddings.word_embeddings.weight"][examples.used]
        self.own = {k: v.clone().to(device).requires_grad_() for k, v in raw.items() if not k.startswith("pooler")}
        shape = (len(examples.causes), 2 * WIDTH)
        self.head = (self.torch.randn(shape, device=device) * 0.02).requires_grad_()
        self.bias = self.torch.zeros(shape[0], device=device, requires_grad=True)

    def _linear(self, name: str, seen: Any) -> Any:
        return self.torch.nn.functional.linear(seen, self.own[f"{name}.weight"], self.own[f"{name}.bias"])

    def _norm(self, name: str, seen: Any) -> Any:
        weight, bias = self.own[f"{name}.weight"], self.own[f"{name}.bias"]
        return self.torch.nn.functional.layer_norm(seen, (WIDTH,), weight, bias, 1e-12)

    def says(self, rows: Sequence[Sequence[int]], learning: bool = False) -> Any:
        """The logarithms of odds for rows of pieces."""
        torch, f = self.torch, self.torch.nn.functional
        longest = max(map(len, rows))
        ids = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows], device=self.device)
        there = torch.tensor([[n < len(row) for n in range(longest)] for row in rows], device=self.device)
        seen = self.own["embeddings.word_embeddings.weight"][ids]
        seen = seen + self.own["embeddings.position_embeddings.weight"][:longest]
        seen = self._norm("embeddings.LayerNorm", seen + self.own["embeddings.token_type_embeddings.weight"][0])
        for layer in range(LAYERS):
            name = f"encoder.layer.{layer}"
            parts = (self._linear(f"{name}.attention.self.{part}", seen) for part in ("query", "key", "value"))
            split = (one.view(len(rows), longest, HEADS, -1).transpose(1, 2) for one in parts)
            joined = f.scaled_dot_product_attention(*split, attn_mask=there[:, None, None, :])
            joined = self._linear(f"{name}.attention.output.dense", joined.transpose(1, 2).reshape(seen.shape))
            seen = self._norm(f"{name}.attention.output.LayerNorm", seen + f.dropout(joined, 0.1, learning))
            wide = self._linear(f"{name}.output.dense", f.gelu(self._linear(f"{name}.intermediate.dense", seen)))
            seen = self._norm(f"{name}.output.LayerNorm", seen + f.dropout(wide, 0.1, learning))
        mean = (seen * there[..., None]).sum(1) / there.sum(1, keepdim=True)
        most = seen.masked_fill(~there[..., None], -1e4).amax(1)
        return f.linear(f.dropout(torch.cat([mean, most], 1), 0.1, learning), self.head, self.bias).float()

    def row(self, text: Sentences) -> list[int]:
        """A text as it sees it."""
        return [self.examples.starts, *[p for s in text for p in s], self.examples.ends][:SEEN]

    def learn(self, places: Sequence[int], size: Size, chance: random.Random) -> None:
        """Train with the tickets at these places, and with the reasons of their labels."""
        torch = self.torch
        told = [(self.row(self.examples.texts[n]), n, 1.0) for n in places]
        told += [(self.row([self.examples.reasons[n]]), n, REASONS) for n in places if self.examples.reasons[n]]
        steps = size.rounds * math.ceil(len(told) / BATCH)
        step = descends([(tuple(self.own.values()), RATE), ((self.head, self.bias), HEAD_FASTER * RATE)], steps)
        for _ in range(size.rounds):
            for batch in batches([len(row) for row, _, _ in told], BATCH, chance):
                right = torch.tensor([self.examples.right[told[n][1]] for n in batch], device=self.device)
                weight = torch.tensor([told[n][2] for n in batch], device=self.device)
                with torch.autocast(self.device, torch.bfloat16):
                    said = self.says([told[n][0] for n in batch], learning=True)
                loss = torch.nn.functional.binary_cross_entropy_with_logits(said, right, reduction="none")
                step((loss.sum(1) * weight).mean())

    def odds(self, texts: Sequence[Sentences]) -> Any:
        """Its odds for texts, 0 to 1."""
        rows = [self.row(text) for text in texts]
        made = self.torch.zeros(len(rows), len(self.examples.causes))
        with self.torch.no_grad(), self.torch.autocast(self.device, self.torch.bfloat16):
            for batch in batches([len(row) for row in rows], 4 * BATCH, random.Random(0)):
                made[batch] = self.torch.sigmoid(self.says([rows[n] for n in batch])).cpu()
        return made


def more(texts: Sequence[Sentences], number: int, chance: random.Random) -> Iterator[Sentences]:
    """Texts made of sentences of tickets: some left out, of two joined, or a few that follow each other."""
    for _ in range(number):
        one, kind = chance.choice(texts), chance.random()
        if kind < 0.45:
            made = [sentence for sentence in one if chance.random() < 0.65]
        elif kind < 0.75:
            other = chance.choice(texts)
            made = [s for s in one if chance.random() < 0.6] + [s for s in other if chance.random() < 0.5]
        else:
            start = chance.randrange(len(one))
            made = list(one[start : start + chance.randint(1, 3)])
        yield made or one[:1]


class Network:
    """The network that is shipped (doctor/knowledge/phrases.py), while it learns."""

    def __init__(self, folder: Path, examples: Examples, device: str) -> None:
        torch = self.torch = importlib.import_module("torch")
        self.device, self.none = device, len(examples.used)
        words = weights(folder)["embeddings.word_embeddings.weight"][examples.used]
        left, spread, _ = torch.linalg.svd(words - words.mean(0), full_matrices=False)
        start = (left * spread)[:, :DIMENSIONS]
        rows = torch.cat([start / start.std(), torch.zeros(1, DIMENSIONS)])
        layer = torch.randn(DIMENSIONS, 4 * UNITS) * 0.4 / math.sqrt(DIMENSIONS)
        last = torch.randn(len(examples.causes), 2 * UNITS) / math.sqrt(2 * UNITS)
        made = (rows, layer, torch.zeros(UNITS), last, torch.zeros(len(examples.causes)))
        self.vectors, self.layer, self.start, self.last, self.begins = (one.to(device).requires_grad_() for one in made)

    def packed(self, texts: Sequence[Sentences]) -> tuple[Any, Any, list[int]]:
        """Rows of pieces with -1 between sentences, the first sentences' ends, the rows' lengths."""
        rows = self.torch.full((len(texts), PLACES), -1, dtype=self.torch.int16)
        ends, lengths = [], []
        for number, text in enumerate(texts):
            place, end = GAP, GAP
            for sentence in text:
                if place + len(sentence) + GAP > PLACES:
                    break
                rows[number, place : place + len(sentence)] = self.torch.tensor(sentence, dtype=self.torch.int16)
                place += len(sentence) + GAP
                end = place if end == GAP else end
            ends.append(end)
            lengths.append(place + 1)
        return rows.to(self.device), self.torch.tensor(ends, device=self.device), lengths

    def says(self, rows: Any, ends: Any, learning: bool = False) -> Any:
        """The logarithms of odds for packed rows."""
        torch, f = self.torch, self.torch.nn.functional
        ids, gaps = rows.long(), rows < 0
        ids = torch.where(gaps, self.none, ids)
        if learning:
            ids = torch.where((torch.rand(ids.shape, device=self.device) < FORGOTTEN) & ~gaps, self.none, ids)
        seen = self.vectors[ids] * (ids < self.none)[..., None]
        before, after = torch.roll(seen, 1, 1), torch.roll(seen, -1, 1)
        all_near = f.avg_pool1d(seen.transpose(1, 2), 2 * GAP + 1, 1, GAP).transpose(1, 2) * (2 * GAP + 1)
        at, of_before, of_after, around = self.layer.split(UNITS, 1)
        sums = seen @ at + before @ of_before + after @ of_after + (all_near - seen - before - after) @ around
        sums = (sums + self.start).masked_fill(gaps[..., None], -1e4)
        title = torch.arange(rows.shape[1], device=self.device)[None] < ends[:, None]
        most = torch.cat([sums.amax(1), sums.masked_fill(~title[..., None], -1e4).amax(1)], 1).float()
        return f.linear(f.dropout(f.relu(most), DROPPED, learning), self.last, self.begins).float()

    def imitate(self, texts: Sequence[Sentences], odds: Any, size: Size, chance: random.Random) -> None:
        """Learn to give these odds for these texts."""
        torch = self.torch
        rows, ends, lengths = self.packed(texts)
        odds = odds.to(self.device)
        _, rate, batch_size = IMITATES
        numbers = (self.vectors, self.layer, self.start, self.last, self.begins)
        step = descends([(numbers, rate)], size.imitates * math.ceil(len(texts) / batch_size))
        for _ in range(size.imitates):
            for batch in batches(lengths, batch_size, chance):
                longest = max(lengths[n] for n in batch)
                with torch.autocast(self.device, torch.bfloat16):
                    said = self.says(rows[batch, :longest], ends[batch], learning=True)
                loss = torch.nn.functional.binary_cross_entropy_with_logits(said, odds[batch], reduction="none")
                step(loss.sum(1).mean())

    def logarithms(self, texts: Sequence[Sentences]) -> list[list[float]]:
        """The logarithms of odds for texts."""
        rows, ends, lengths = self.packed(texts)
        with self.torch.no_grad():
            parts = (
                self.says(rows[n : n + BATCH, : max(lengths[n : n + BATCH])], ends[n : n + BATCH])
                for n in range(0, len(texts), BATCH)
            )
            return [row for part in parts for row in part.cpu().tolist()]


def taught(folder: Path, examples: Examples, places: Sequence[int], size: Size, device: str) -> Network:
    """The network, learned from the tickets at these places."""
    torch = importlib.import_module("torch")
    torch.manual_seed(0)
    chance = random.Random(0)
    teacher = Teacher(folder, examples, device)
    teacher.learn(places, size, chance)
    own = [examples.texts[n] for n in places]
    made = [*more(own, size.more, chance), *([examples.reasons[n]] for n in places if examples.reasons[n])]
    of_own = teacher.odds(own)
    right = torch.tensor([examples.right[n] for n in places])
    network = Network(folder, examples, device)
    # its own tickets twice: once as the teacher sees them, once half as their labels do
    odds = torch.cat([teacher.odds(made), of_own, (of_own + right) / 2])
    network.imitate([*made, *own, *own], odds, size, chance)
    return network


def worth(tickets: Sequence[Ticket], examples: Examples, network: Network, left_out: Sequence[int]) -> list[Any]:
    """What odds are worth: rows of odds and of the share of tickets that had the cause, where neither the network nor
    the words had learned the tickets. Both rise."""
    without = [n for n in range(len(tickets)) if n not in set(left_out)]
    words = Model([tickets[n] for n in without], [terms_and_traits(tickets[n]) for n in without])
    of_phrases = network.logarithms([examples.texts[n] for n in left_out])
    seen, right = [0] * STEPS, [0] * STEPS
    for cause, odds, place in words.odds([terms_and_traits(tickets[n]) for n in left_out]):
        column = examples.causes.index(cause)
        of_words = math.log(max(odds, 1e-9) / max(1 - odds, 1e-9))
        step = min(int(joined_odds(of_words, of_phrases[place][column]) * STEPS), STEPS - 1)
        seen[step] += 1
        right[step] += examples.right[left_out[place]][column] > 0
    rows, least = [{"odds": 0.0, "share": 0.0}], 0.0
    for step in range(STEPS):
        if seen[step]:
            least = max(least, round(right[step] / seen[step], 3))
            rows.append({"odds": round((step + 0.5) / STEPS, 4), "share": least})
    return [*rows, {"odds": 1.0, "share": least}]


def numbers_of(network: Network) -> tuple[Mapping[str, bytes], float]:
    """The numbers of the layers as whole ones, and what one of the last layer's sums is."""
    torch = network.torch
    vectors, layer, start, last = (
        one.detach().double().cpu() for one in (network.vectors[:-1], network.layer, network.start, network.last)
    )
    unit = vectors.abs().amax(0).clamp_min(1e-9) / 127
    layer = layer * unit[:, None]
    times, last_times = WHOLE / layer.abs().max(), WHOLE / last.abs().max()
    lanes = (layer * times).round().long() + (1 << 31)  # phrases.py takes the middle off
    return {
        "vectors": (vectors / unit).round().to(torch.int8).numpy().tobytes(),
        "layer": lanes.numpy().astype("<u4").tobytes(),
        "start": (start * times).round().numpy().astype("<i4").tobytes(),
        "last": ((last.T * last_times).round().numpy().astype("<i8").view("<u8") ^ (1 << 63)).tobytes(),
    }, float(1 / (times * last_times))


def content(tickets: Sequence[Ticket], examples: Examples, network: Network, shares: list[Any]) -> dict[str, Any]:
    """The content of the table."""
    numbers, scale = numbers_of(network)
    cited = {"sources": ["cases", "model"], "status": "verified"}
    parts = [{"part": part, "numbers": base64.b64encode(said).decode()} for part, said in numbers.items()]
    return {
        "schema": 1, "table": "phrases", "date": date.today().isoformat(),
        "sources": {"cases": source(list(tickets)).replace("learn_words", "learn_phrases"), "model": CREDIT},
        "causes": [{"cause": cause, "begins": round(begins, 4), **cited}
                   for cause, begins in zip(examples.causes, network.begins.tolist(), strict=True)],
        "shares": shares,
        "pieces": [{"lines": " ".join(examples.known)}],
        "network": [{**parts[0], "scale": scale}, *parts[1:]],
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--model", type=Path, required=True, help="the folder of all-MiniLM-L6-v2")
    parser.add_argument("--try", action="store_true", dest="tries", help="a few steps on 200 tickets")
    parser.add_argument("--write", action="store_true", help="replace the table")
    options = parser.parse_args()
    tickets, size = labelled(options.folders), Size()
    device = "cuda" if importlib.import_module("torch").cuda.is_available() else "cpu"
    if options.tries:
        tickets, size = tickets[:: max(1, len(tickets) // 200)], Size(more=100, rounds=1, imitates=1)
    examples = Examples(tickets, (options.model / "vocab.txt").read_text(encoding="utf-8").split("\n"))
    part = [int(hashlib.md5(one.label["source"].encode()).hexdigest(), 16) % PARTS for one in tickets]
    kept, left_out = ([n for n, of in enumerate(part) if (of == 0) is out] for out in (False, True))
    shares = worth(tickets, examples, taught(options.model, examples, kept, size, device), left_out)
    network = taught(options.model, examples, range(len(tickets)), size, device)
    text = table_text(content(tickets, examples, network, shares), ascii=True)
    if options.write and not options.tries:
        TABLE.write_text(text, encoding="utf-8")
    print(f"{len(tickets)} tickets, {len(examples.known)} pieces, {len(text)} characters")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
