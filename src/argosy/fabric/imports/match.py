"""Which device of a built fabric is which device of its plan: by GUID, by name, and by structure where both are silent.

By structure: two switches are alike when many of their neighbours are matched already. Matches are taken one at
a time, the best-supported among the neighbours of the last one first, so that one pod is finished before the
next begins; a wrongly plugged cable costs its switch one vote and no more. Within a leaf, cards follow the ports.
"""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np

from argosy.fabric.imports.wires import SWITCH, Wires
from argosy.facts import FactError

UNMATCHED = -1
SAME_PORT = 1 / 64  # a vote for equal port numbers: breaks ties, never outweighs a neighbour
ATTEMPTS = 6  # first guesses where nothing has a name
MOST_SWITCHES = 20_000  # beyond, the table of votes (4 bytes a pair) would pass 1.6 GB


def match(planned: Wires, built: Wires) -> np.ndarray:
    """For every planned device the built one that it is, or UNMATCHED; shape (planned devices,).

    FactError for more than MOST_SWITCHES switches where some have no name in common.
    """
    found = np.full(len(planned.devices), UNMATCHED)
    taken = np.zeros(len(built.devices), dtype=bool)

    def pair(ours: int, theirs: int) -> None:
        if found[ours] == UNMATCHED and not taken[theirs]:
            found[ours], taken[theirs] = theirs, True

    by_guid = {device.guid: i for i, device in enumerate(built.devices) if device.guid}
    for i, device in enumerate(planned.devices):
        if device.guid in by_guid:
            pair(i, by_guid[device.guid])
    for ours, theirs in _by_name(planned, built):
        pair(ours, theirs)
    if (found == UNMATCHED).all() and len(built):
        return _best_of_several(planned, built)
    if (found == UNMATCHED).any() and not taken.all():
        _Structure(planned, built, found, taken).match()
    return found


def _best_of_several(planned: Wires, built: Wires) -> np.ndarray:
    """Without any name the first match is a guess, and a wrongly plugged cable next to it misleads: of ATTEMPTS guesses
    the one that explains the most cables; none is tried after one that explains all.
    """
    best, most = np.full(len(planned.devices), UNMATCHED), -1
    for attempt in range(ATTEMPTS):
        found = np.full(len(planned.devices), UNMATCHED)
        _Structure(planned, built, found, np.zeros(len(built.devices), dtype=bool), attempt).match()
        explained = _explained(planned, built, found)
        if explained > most:
            best, most = found, explained
        if explained == len(planned):
            break
    return best


def _explained(planned: Wires, built: Wires, found: np.ndarray) -> int:
    """Planned cables whose two devices, as matched, are joined in the built fabric too, each cable counted once."""

    def pairs(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        key = np.minimum(a, b).astype(np.int64) * len(built.devices) + np.maximum(a, b)
        return np.unique(key, return_counts=True)

    a, b = found[planned.a], found[planned.b]
    known = (a != UNMATCHED) & (b != UNMATCHED)
    (wanted, of_wanted), (there, of_there) = pairs(a[known], b[known]), pairs(built.a, built.b)
    _, i, j = np.intersect1d(wanted, there, assume_unique=True, return_indices=True)
    return int(np.minimum(of_wanted[i], of_there[j]).sum())


def _by_name(planned: Wires, built: Wires) -> list[tuple[int, int]]:
    """Pairs of equal names; the cards of a host by number, or by order where a plan numbers them otherwise."""
    ours, theirs = _names(planned), _names(built)
    pairs: list[tuple[int, int]] = []
    for name, own in ours.items():
        other = theirs.get(name, {})
        if set(other) - set(own) and SWITCH not in own and SWITCH not in other:
            pairs += [
                (own[a], other[b])
                for a, b in zip(sorted(own), sorted(other), strict=False)
                if len(own) == len(other)
            ]
        else:
            pairs += [(own[card], other[card]) for card in own if card in other]
    return pairs


def _names(wires: Wires) -> dict[str, dict[int, int]]:
    """name → card number → device; a name that means two devices means none."""
    found: dict[str, dict[int, int]] = defaultdict(dict)
    doubled: set[tuple[str, int]] = set()
    for index, device in enumerate(wires.devices):
        key = device.name.lower()
        if device.card in found[key]:
            doubled.add((key, device.card))
        found[key][device.card] = index
    for key, card in doubled:
        del found[key][card]
    return found


class _Side:
    """One of the two fabrics: its switches numbered among themselves, their neighbours, their cards."""

    def __init__(self, wires: Wires) -> None:
        self.wires = wires
        self.switches = [i for i, device in enumerate(wires.devices) if device.is_switch]
        self.number = {device: n for n, device in enumerate(self.switches)}
        self.neighbours: list[dict[int, int]] = [{} for _ in self.switches]  # port → switch number
        self.cards: list[dict[int, int]] = [{} for _ in self.switches]  # port → device
        columns = (wires.a, wires.a_port, wires.b, wires.b_port)
        for a, p, b, q in zip(*(column.tolist() for column in columns), strict=True):
            for near, near_port, far in ((a, p, b), (b, q, a)):
                if near not in self.number:
                    continue
                if far in self.number:
                    self.neighbours[self.number[near]][near_port] = self.number[far]
                else:
                    self.cards[self.number[near]][near_port] = far
        # A leaf is a switch with cards on a quarter of its cabled ports or more: one card plugged into a spine by
        # mistake does not make it a leaf.
        self.is_leaf = np.array(
            [4 * len(c) >= len(c) + len(n) > 0 for c, n in zip(self.cards, self.neighbours, strict=True)],
            dtype=bool,
        )
        self.shape = [(len(c), len(n)) for c, n in zip(self.cards, self.neighbours, strict=True)]


class _Structure:
    """Matches by votes; `guess`: which of the equally good built switches the first match takes."""

    def __init__(
        self, planned: Wires, built: Wires, found: np.ndarray, taken: np.ndarray, guess: int = 0
    ) -> None:
        self.guess = guess
        self.ours, self.theirs = _Side(planned), _Side(built)
        self.found, self.taken = found, taken
        size = max(len(self.ours.switches), len(self.theirs.switches))
        if size > MOST_SWITCHES:
            raise FactError(
                f"{size} switches, some without a name in common: at most {MOST_SWITCHES} are matched by structure; give them "
                "names or GUIDs in a cable list"
            )
        self.votes = np.zeros((len(self.ours.switches), len(self.theirs.switches)), dtype=np.float32)
        self.votes -= 0.5 * (self.ours.is_leaf[:, None] != self.theirs.is_leaf[None, :])
        self.open_ours = np.array([found[i] == UNMATCHED for i in self.ours.switches], dtype=bool)
        self.open_theirs = np.array([not taken[i] for i in self.theirs.switches], dtype=bool)
        self.matched: list[tuple[int, int]] = []

    def match(self) -> None:
        """Match what is left: switches by votes, then cards by their place."""
        self._vote_by_cards()
        self.matched = [
            (n, self.theirs.number[int(self.found[i])])
            for n, i in enumerate(self.ours.switches)
            if self.found[i] != UNMATCHED
        ]
        for pair in self.matched:
            self._vote(*pair)
        self._take_certain()
        stack = list(self.matched)
        while self.open_ours.any() and self.open_theirs.any():
            best = self._best_near(stack) or self._seed()
            if best is None:
                break
            self._take(*best)
            stack.append(best)
        self._cards()

    def _take(self, ours: int, theirs: int) -> None:
        self.found[self.ours.switches[ours]] = self.theirs.switches[theirs]
        self.taken[self.theirs.switches[theirs]] = True
        self.open_ours[ours] = self.open_theirs[theirs] = False
        self.matched.append((ours, theirs))
        self._vote(ours, theirs)

    def _vote(self, ours: int, theirs: int) -> None:
        """A matched pair votes for every pair of its neighbours, and a little more for those on equal ports."""
        own, other = self.ours.neighbours[ours], self.theirs.neighbours[theirs]
        for near in set(own.values()):
            self.votes[near, list(set(other.values()))] += 1
        for port, near in own.items():
            if port in other:
                self.votes[near, other[port]] += SAME_PORT

    def _vote_by_cards(self) -> None:
        """Cards that are matched by name vote for the switches that they are plugged into."""
        home = {card: n for n, cards in enumerate(self.theirs.cards) for card in cards.values()}
        for n, cards in enumerate(self.ours.cards):
            for card in cards.values():
                if (other := int(self.found[card])) != UNMATCHED and other in home:
                    self.votes[n, home[other]] += 1

    def _take_certain(self) -> None:
        """Take pairs that each find best, without a tie, until there are none."""
        while self.open_ours.any() and self.open_theirs.any():
            rows, columns = np.flatnonzero(self.open_ours), np.flatnonzero(self.open_theirs)
            table = self.votes[np.ix_(rows, columns)]
            best = table.argmax(axis=1)
            top = table[np.arange(len(rows)), best]
            mutual = table.argmax(axis=0)[best] == np.arange(len(rows))
            certain = (top > 0.5) & mutual & ((table >= top[:, None] - 0.5).sum(axis=1) == 1)
            if not certain.any():
                return
            for row, column in zip(rows[certain], columns[best[certain]], strict=True):
                self._take(int(row), int(column))

    def _best_near(self, stack: list[tuple[int, int]]) -> tuple[int, int] | None:
        """The best-voted pair next to the last match that has open neighbours of one kind, or None."""
        while stack:
            ours, theirs = stack[-1]
            rows = [n for n in set(self.ours.neighbours[ours].values()) if self.open_ours[n]]
            columns = [n for n in set(self.theirs.neighbours[theirs].values()) if self.open_theirs[n]]
            if rows and columns:
                table = self.votes[np.ix_(rows, columns)]
                row, column = np.unravel_index(int(table.argmax()), table.shape)
                if table[row, column] >= 1:
                    return rows[int(row)], columns[int(column)]
            stack.pop()
        return None

    def _seed(self) -> tuple[int, int] | None:
        """An open planned switch of the commonest kind and the built one that has the most like cards and uplinks; leaves
        with leaves, others with others.
        """
        for leaf in (True, False):
            rows = np.flatnonzero(self.open_ours & (self.ours.is_leaf == leaf)).tolist()
            columns = np.flatnonzero(self.open_theirs & (self.theirs.is_leaf == leaf)).tolist()
            if rows and columns:
                kinds = Counter(self.ours.shape[n] for n in rows)
                row = max(rows, key=lambda n: (kinds[self.ours.shape[n]], -n))
                unlike = [self._unlike(row, n) for n in columns]
                equal = [n for n, apart in zip(columns, unlike, strict=True) if apart == min(unlike)]
                return row, equal[self.guess * len(equal) // ATTEMPTS]
        return None

    def _unlike(self, ours: int, theirs: int) -> float:
        """How little two switches are alike: cards and uplinks that one has more, less their votes."""
        (cards, uplinks), other = self.ours.shape[ours], self.theirs.shape[theirs]
        return abs(other[0] - cards) + abs(other[1] - uplinks) - float(self.votes[ours, theirs])

    def _cards(self) -> None:
        """Cards without a match: those of one leaf by port number, then in order."""
        for n, cards in enumerate(self.ours.cards):
            theirs = int(self.found[self.ours.switches[n]])
            if theirs == UNMATCHED:
                continue
            other = {
                p: c for p, c in self.theirs.cards[self.theirs.number[theirs]].items() if not self.taken[c]
            }
            own = {p: c for p, c in cards.items() if self.found[c] == UNMATCHED}
            same = [(own.pop(port), other.pop(port)) for port in sorted(set(own) & set(other))]
            rest = zip([own[p] for p in sorted(own)], [other[p] for p in sorted(other)], strict=False)
            for card, built in [*same, *rest]:
                self.found[card], self.taken[built] = built, True
