"""Prefixes that make room: reuse distances against a plain LRU cache, hit rates against Che's closed form, traces with ids."""

import json
from collections import OrderedDict
from itertools import pairwise

import numpy as np
import pytest
from affine_engine import Affine
from hypothesis import given, settings
from hypothesis import strategies as st

from argosy.kernels import serving_records as records
from argosy.kernels.reuse import reuse_distances
from argosy.serving.fleet import Policy, Pool, simulate
from argosy.serving.traces import BLOCK, read_trace
from argosy.serving.traffic import LengthShape, Synthetic, made
from argosy.spec import ScenarioError


def plain_hits(prompts, answers, capacity):
    """Leading blocks found in an LRU cache of `capacity` tokens: a dictionary in order of use, the oldest thrown out."""
    cache, found = OrderedDict(), []
    for number, (blocks, answer) in enumerate(zip(prompts, answers, strict=True)):
        hits = 0
        while hits < len(blocks) and blocks[hits] in cache:
            hits += 1
        found.append(hits)
        cache[("answer", number)] = answer
        for block in reversed(blocks):
            cache[block] = BLOCK
            cache.move_to_end(block)
        while sum(cache.values()) > capacity:
            cache.popitem(last=False)
    return found


@st.composite
def conversations(draw):
    """Prompts that begin alike: each a walk down a small tree of blocks."""
    prompts = [
        [f"{root}"] + [f"{root}/{'/'.join(map(str, path[: k + 1]))}" for k in range(len(path))]
        for root, path in draw(
            st.lists(
                st.tuples(st.integers(0, 2), st.lists(st.integers(0, 1), max_size=4)), min_size=1, max_size=40
            )
        )
    ]
    return prompts, [draw(st.integers(0, 900)) for _ in prompts]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(conversations(), st.integers(1, 12_000))
def test_distances_are_those_of_a_plain_lru_cache(traffic, capacity):
    prompts, answers = traffic
    numbers = {}
    flat = [numbers.setdefault(block, len(numbers)) for blocks in prompts for block in blocks]
    first = np.concatenate([[0], np.cumsum([len(each) for each in prompts])])
    distance = reuse_distances(np.array(flat, np.int64), first, np.array(answers), float(BLOCK))
    hits = []
    for low, high in pairwise(first):
        inside = distance[low:high] <= capacity
        hits.append(int(np.argmin(inside)) if not inside.all() else high - low)
    assert hits == plain_hits(prompts, answers, capacity)


def conversations_file(path, users=60, turns=8, gap_s=40.0):
    """A trace in the published form: users whose every prompt contains all before; returns prompts and answers in order."""
    stream = np.random.default_rng(3)
    events = sorted(
        (float(at), user, turn)
        for user in range(users)
        for turn, at in enumerate(np.cumsum(stream.exponential(gap_s, turns)) + stream.random() * gap_s)
    )
    prompts, answers, lines = [], [], []
    for at, user, turn in events:
        blocks = [0] + [1 + user * 1000 + k for k in range(2 * turn + 1)]
        prompts.append(blocks)
        answers.append(int(stream.integers(5, 50)))
        row = {"timestamp": round(1000 * at), "input_length": BLOCK * len(blocks), "output_length": answers[-1],
               "hash_ids": blocks}  # fmt: skip
        lines.append(json.dumps(row))
    path.write_text("\n".join(lines) + "\n")
    return prompts, answers


FAST = {"per_token": 1e-7, "base": 1e-6, "per_sequence": 0.0, "per_key": 0.0}  # idle at nearly every arrival


@pytest.mark.parametrize("capacity", [12_000, 60_000, 10_000_000])
def test_one_idle_replica_finds_what_a_plain_cache_has(tmp_path, capacity):
    file = tmp_path / "turns.jsonl"
    prompts, answers = conversations_file(file)
    requests = read_trace(file)
    run = simulate(
        requests, [Pool(Affine(kv_capacity_tokens=capacity, **FAST), 1)], Policy(router="prefix-aware")
    )
    expected = BLOCK * np.array(plain_hits(prompts, answers, capacity))
    # a prompt that is found whole has its last token seen again
    whole = np.minimum(expected, requests.input_tokens - 1)
    assert run.done.all()
    assert run.books[0, records.CACHED_TOKENS] == whole.sum()
    assert run.books[0, records.EVICTED_TOKENS] == requests.prefix_tokens.sum() - expected.sum()


def test_more_replicas_keep_more_and_running_requests_less(tmp_path):
    file = tmp_path / "turns.jsonl"
    conversations_file(file)
    requests = read_trace(file)
    small = Affine(kv_capacity_tokens=12_000, **FAST)
    found = [
        simulate(requests, [Pool(small, count)], Policy(router="prefix-aware")).books[
            0, records.CACHED_TOKENS
        ]
        for count in (1, 2, 8)
    ]
    assert found[0] < found[1] < found[2]
    # slow iterations hold memory for long, and the cache gives it up
    slow = Affine(kv_capacity_tokens=12_000, base=0.2)
    held = simulate(requests, [Pool(slow, 2)], Policy(router="prefix-aware")).books[0, records.CACHED_TOKENS]
    assert held < found[1]


@pytest.mark.parametrize("mean_s", [2.0, 20.0, 200.0])
def test_hit_rate_of_exponential_reuse_is_ches(mean_s):
    """An entry survives as long as the others take to fill the cache: 1 − exp(−time ÷ mean) of the uses find it."""
    shape = Synthetic(
        20.0,
        1.0,
        (LengthShape(1000, 0.0),),
        (LengthShape(100, 0.0),),
        prefix_share=0.5,
        prefix_reuse_s=mean_s,
    )
    requests = made(shape, 1000.0, 1)
    capacity, replicas = 100_000, 4
    run = simulate(
        requests, [Pool(Affine(kv_capacity_tokens=capacity, **FAST), replicas)], Policy(router="prefix-aware", affinity=1e9)
    )  # fmt: skip
    filled = 20.0 * (500 + 100)
    survives = (capacity * replicas - 500) / filled
    expected = 1.0 - np.exp(-survives / mean_s)
    assert run.books[0, records.CACHED_TOKENS] / requests.prefix_tokens.sum() == pytest.approx(
        expected, abs=0.012
    )


def test_without_ids_nothing_makes_room():
    shape = Synthetic(20.0, 1.0, (LengthShape(1000, 0.0),), (LengthShape(100, 0.0),), prefix_share=0.5)
    requests = made(shape, 50.0, 1)
    assert requests.reuse is None
    run = simulate(
        requests, [Pool(Affine(kv_capacity_tokens=3000, **FAST), 1)], Policy(router="prefix-aware")
    )
    assert run.books[0, records.CACHED_TOKENS] == requests.prefix_tokens.sum()


def test_ids_that_are_none(tmp_path):
    file = tmp_path / "odd.jsonl"
    file.write_text('{"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [[1], null]}\n')
    with pytest.raises(
        ScenarioError, match=r"odd\.jsonl:1:1: hash_ids: has an id that is no whole number; write a list"
    ):
        read_trace(file)
