"""Who meets whom in which round. Standard library only.

A 1-factorisation of the complete graph by the circle method: of n (even) all pairs in n - 1 rounds, each one in a pair
in every round; of an odd n one rests in each. Between nodes a few rounds do: each is a perfect matching, so that k
rounds give every node k different partners (n * k / 2 links, not n * (n - 1) / 2).
"""

from typing import Dict, List, Sequence, Tuple

BETWEEN_ROUNDS = 4  # of pairs of nodes: two partners are needed to tell a node from a link, the others to be sure


def rounds(count: int) -> List[List[Tuple[int, int]]]:
    """All rounds of pairs of range(count).

    >>> rounds(4)
    [[(0, 3), (1, 2)], [(0, 2), (3, 1)], [(0, 1), (2, 3)]]
    """
    return [one_round(count, number) for number in range(length(count))]


def length(count: int) -> int:
    """How many rounds there are."""
    return max(0, count + count % 2 - 1)


def one_round(count: int, number: int) -> List[Tuple[int, int]]:
    """The pairs of one round: seat 0 stays, the others move on by one seat a round."""
    even = count + count % 2
    seats = [0] + [1 + (seat - number) % (even - 1) for seat in range(even - 1)]
    pairs = [(seats[i], seats[even - 1 - i]) for i in range(even // 2)]
    return [(one, other) for one, other in pairs if one < count and other < count]


def nodes_of(hosts: Sequence[str]) -> List[List[int]]:
    """The members (positions) of each host, in the order of their first."""
    by_host: Dict[str, List[int]] = {}
    for position, host in enumerate(hosts):
        by_host.setdefault(host, []).append(position)
    return list(by_host.values())


def steps(hosts: Sequence[str], between: int = BETWEEN_ROUNDS) -> List[Tuple[str, Dict[int, int]]]:
    """All rounds of a fleet: (scope, {member: partner}). First within the nodes, all nodes at the same time; then
    between nodes, where the i-th of one node meets the i-th of the other."""
    nodes = nodes_of(hosts)
    found: List[Tuple[str, Dict[int, int]]] = []
    for number in range(max([length(len(node)) for node in nodes] or [0])):
        partner: Dict[int, int] = {}
        for node in nodes:
            if number < length(len(node)):
                for one, other in one_round(len(node), number):
                    partner[node[one]], partner[node[other]] = node[other], node[one]
        found.append(("node", partner))
    every = length(len(nodes))
    for number in range(min(between, every)):
        partner = {}
        for one, other in one_round(len(nodes), spaced(number, between, every)):
            for here, there in zip(nodes[one], nodes[other]):
                partner[here], partner[there] = there, here
        found.append(("between", partner))
    return found


def spaced(number: int, wanted: int, every: int) -> int:
    """Which of all rounds the wanted ones are: spread, so that neighbours (one rack, one switch) are not the only
    partners."""
    return number if wanted >= every else number * every // wanted
