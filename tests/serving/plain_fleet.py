"""An inference fleet in plain Python, iteration by iteration: the oracle of the compiled one. It shares no code with it.

Every engine iteration is an event, requests are objects, queues are lists. The rules are those of docs/serving.md.
"""

from __future__ import annotations

import heapq
import itertools
import math


class Request:
    def __init__(self, arrival, prompt, answer, priority, luck=0.5):
        self.luck = luck  # spreads retries
        self.arrival, self.input, self.output, self.priority = arrival, prompt, answer, priority
        self.first, self.finish, self.end, self.tries = None, None, "unfinished", 0
        self.start_over()

    def start_over(self):
        self.prompt, self.to_come, self.seen, self.made, self.first = self.input, self.output, 0, 0, None
        self.with_cache = False  # its prompt was seen in another pool


class Wave(list):
    """Replicas that a rolling upgrade has taken and that are not yet back."""


class Replica:
    def __init__(self, pool, engine):
        self.pool, self.engine = pool, engine
        self.away, self.unnoticed = (
            None,
            False,
        )  # draining or down for an upgrade; dead, which nobody knows yet
        self.up, self.waiting, self.seeing, self.running, self.order = True, {}, [], [], 0
        self.busy, self.version = None, 0

    @property
    def held(self):
        return sum(q.prompt + q.made for q in self.running) + sum(q.prompt for q in self.seeing)

    @property
    def load(self):
        return sum(len(each) for each in self.waiting.values()) + len(self.seeing) + len(self.running)

    @property
    def takes(self):
        return self.unnoticed or (self.up and self.away is None)

    def work(self, expected):
        of = itertools.chain(*self.waiting.values(), self.seeing, self.running)
        return sum(q.input + expected for q in of)


class PlainFleet:
    """`pools`: (engine, replicas, prefill only, chunk, least chunk, largest batch, evicts, mixed)."""

    def __init__(
        self,
        pools,
        router,
        retry_s=1.0,
        retries=3,
        cold_s=0.0,
        detection_s=0.0,
        transfer=(0.0, 0.0),
        unnoticed_s=0.0,
    ):
        self.specs, self.router = pools, router
        self.pools = [[Replica(p, spec[0]) for _ in range(spec[1])] for p, spec in enumerate(pools)]
        self.all = [r for pool in self.pools for r in pool]
        self.retry_s, self.retries, self.cold_s, self.detection_s, self.transfer = (
            retry_s, retries, cold_s, detection_s, transfer,
        )  # fmt: skip
        self.unnoticed_s, self.refusals, self.fewest = unnoticed_s, 0, len(self.all)
        self.turn, self.events, self.count = [0] * len(pools), [], itertools.count()
        self.log = []  # iterations that ran to their end: pool, begin, end, tokens generated

    def at(self, when, what, *given):
        heapq.heappush(self.events, (when, next(self.count), what, given))

    def run(self, requests, strikes=(), upgrades=()):
        """`strikes`: (when, first, last, how long); `upgrades`: (when, pool, seconds down, how many together)."""
        self.expected = sum(q.output for q in requests) / len(requests)
        for q in requests:
            self.at(q.arrival, self.submit, q)
        for when, first, last, lasts in strikes:
            self.at(when, self.strike, first, last, lasts)
        for when, p, lasts, together in upgrades:
            self.at(when, self.upgrade, p, lasts, together)
        while self.events:
            self.now, _, what, given = heapq.heappop(self.events)
            what(*given)

    def submit(self, q):
        p = 1 if q.with_cache and len(self.pools) > 1 else 0
        r = self.choose(p)
        if r is None:
            self.at(self.now + self.retry_s * (0.5 + q.luck), self.submit, q)
            return
        if r.unnoticed:
            self.refusals += 1
            self.lose(q)
            return
        r.waiting.setdefault(q.priority, []).append(q)
        if r.busy is None:
            self.iterate(r)

    def choose(self, p):
        pool = self.pools[p]
        if self.router == "least-work":
            able = [r for r in pool if r.takes]
            return min(able, key=lambda r: r.work(self.expected), default=None)
        for _ in pool:
            r = pool[self.turn[p]]
            self.turn[p] = (self.turn[p] + 1) % len(pool)
            if r.takes:
                return r
        return None

    def admit(self, r):
        _, _, _, _, _, largest, evicts, _ = self.specs[r.pool]
        capacity = r.engine.kv_capacity_tokens
        for priority in sorted(r.waiting):
            queue = r.waiting[priority]
            while queue:
                q = queue[0]
                if evicts:
                    room = r.held + q.prompt + len(r.running) + 1 <= capacity
                else:
                    others = sum(x.input + x.output for x in (*r.running, *r.seeing))
                    room = others + q.input + q.output <= capacity
                if len(r.running) + len(r.seeing) >= largest or not room:
                    return
                queue.pop(0)
                q.order, r.order = r.order, r.order + 1
                if q.with_cache:
                    q.made = 0
                    r.running.append(q)
                else:
                    q.seen = 0
                    r.seeing.append(q)

    def iterate(self, r):
        spec = self.specs[r.pool]
        if spec[6]:
            self.evict(r)
        self.admit(r)
        if not r.seeing and not r.running:
            r.busy = None
            if r.away is not None:
                self.drained(r)
            return
        beside = len(r.running) if spec[7] else 0
        budget, part, keys = max(spec[3] - beside, spec[4]), [], 0.0
        for q in r.seeing:
            n = min(q.prompt - q.seen, budget)
            if n <= 0:
                break
            part.append((q, n))
            keys += n * (q.seen + n / 2)
            budget -= n
        tokens, batch = sum(n for _, n in part), len(r.running)
        context = sum(q.prompt + q.made for q in r.running) / batch if batch else 0.0
        takes = (
            r.engine.mixed_s(tokens, keys / tokens, beside, context)
            if tokens
            else r.engine.decode_s(batch, context)
        )
        r.busy, r.version, r.began = part, r.version + 1, self.now
        self.at(self.now + float(takes), self.done, r, r.version)

    def evict(self, r):
        while len(r.running) > 1 and r.held + len(r.running) > r.engine.kv_capacity_tokens:
            q = max(r.running, key=lambda x: x.order)
            r.running.remove(q)
            q.prompt, q.to_come, q.made = q.prompt + q.made + 1, q.to_come - q.made - 1, 0
            q.with_cache = False
            r.waiting.setdefault(q.priority, []).insert(0, q)

    def done(self, r, version):
        if version != r.version or not r.up:
            return
        going = list(r.running) if self.specs[r.pool][7] or not r.busy else []
        ending = sum(q.seen + n == q.prompt for q, n in r.busy)
        self.log.append((r.pool, r.began, self.now, len(going) + ending))
        for q in going:
            q.made += 1
            if q.made == q.to_come - 1:
                r.running.remove(q)
                q.finish, q.end = self.now, "done"
        for q, n in r.busy:
            q.seen += n
            if q.seen == q.prompt:
                r.seeing.remove(q)
                self.seen(r, q)
        self.iterate(r)

    def seen(self, r, q):
        if self.specs[r.pool][2]:
            arrives = self.now + self.transfer[0] + self.transfer[1] * q.prompt
            q.first = arrives if q.first is None else q.first
            if q.to_come == 1:
                q.finish, q.end = arrives, "done"
            else:
                q.with_cache = True
                self.at(arrives, self.submit, q)
            return
        q.first = self.now if q.first is None else q.first
        if q.to_come == 1:
            q.finish, q.end = self.now, "done"
        else:
            q.made = 0
            r.running.append(q)

    def strike(self, first, last, lasts):
        for r in self.all[first : last + 1]:
            if not r.up:
                continue
            r.unnoticed = r.away is None and self.unnoticed_s > 0.0
            r.up, r.version, r.busy = False, r.version + 1, None
            lost = [*r.running, *r.seeing, *itertools.chain(*(r.waiting[c] for c in sorted(r.waiting)))]
            r.running, r.seeing, r.waiting = [], [], {}
            for q in lost:
                self.lose(q)
            if r.unnoticed:
                self.at(self.now + self.unnoticed_s, self.noticed, r)
            known_s = max(self.detection_s, self.unnoticed_s)
            self.at(self.now + max(lasts, known_s) + self.cold_s, self.back, r)

    def lose(self, q):
        q.tries += 1
        if q.tries > self.retries:
            q.end, q.finish = "failed", self.now
        else:
            q.start_over()
            self.at(self.now + self.retry_s * (0.5 + q.luck), self.submit, q)

    def noticed(self, r):
        r.unnoticed = False

    def back(self, r):
        r.up, wave, r.away = True, r.away, None
        if wave is not None:
            wave.remove(r)
            self.roll(wave)

    def upgrade(self, p, lasts, together):
        if all(r.away is None for r in self.pools[p]):
            wave = Wave()
            wave.ahead, wave.lasts, wave.together = list(self.pools[p]), lasts, together
            self.roll(wave)

    def roll(self, wave):
        """The next replicas that are up drain, once all those before are back."""
        if wave:
            return
        while wave.ahead and len(wave) < wave.together:
            r = wave.ahead.pop(0)
            if r.up:
                r.away = wave
                wave.append(r)
        self.fewest = min(self.fewest, sum(r.takes for r in self.all))
        for r in list(wave):
            if r.busy is None:
                self.drained(r)

    def drained(self, r):
        r.up = False
        self.at(self.now + r.away.lasts + self.cold_s, self.back, r)


def quantile(values, share):
    """The value that a share of them does not exceed: the smallest such."""
    ranked = sorted(values)
    return ranked[max(math.ceil(share * len(ranked)) - 1, 0)]
