"""Reading ibnetdiscover: what it says, and what it says wrongly, with the line."""

from __future__ import annotations

import re

import numpy as np
import pytest
from ibnet import ibnetdiscover

from argosy.fabric.imports import ReadError, read_ibnetdiscover
from argosy.fabric.imports.ibnetdiscover import host_and_card, switch_name

CABLES = [
    (("h1", 1), ("leaf1", 1)),
    (("h2", 1), ("leaf1", 2)),
    (("h3", 1), ("leaf2", 1)),
    (("leaf1", 3), ("spine", 1)),
    (("leaf2", 3), ("spine", 2)),
]


@pytest.fixture
def read(tmp_path):
    def of(text: str, **options):
        path = tmp_path / "built.txt"
        path.write_text(text, encoding="utf-8")
        return read_ibnetdiscover(path, **options)

    return of


def test_devices_cables_and_rates(read):
    found = read(ibnetdiscover(CABLES, {"h1": "node-1 mlx5_2"}, {2: "4xEDR", 3: "2xHDR"}))
    assert len(found) == 5 and len(found.devices) == 6 and found.notes == ()
    assert {device.label for device in found.devices if device.is_switch} == {"leaf1", "leaf2", "spine"}
    assert "node-1 card 2" in {device.label for device in found.devices}
    rates = {frozenset(found.cable(i).split(" - ")): found.rate[i] for i in range(5)}
    assert rates[frozenset(["node-1 card 2", "leaf1[1]"])] == 400e9
    assert rates[frozenset(["h3 card 0", "leaf2[1]"])] == 100e9
    assert rates[frozenset(["leaf1[3]", "spine[1]"])] == 100e9  # two lanes of a split cable
    assert (found.line > 0).all()


def test_a_cable_is_as_slow_as_its_slower_end(read):
    text = ibnetdiscover(CABLES)
    place = text.rindex("4xNDR")  # one end alone
    found = read(text[:place] + "4xHDR" + text[place + 5 :])
    assert sorted(found.rate) == [200e9] + [400e9] * 4


@pytest.mark.parametrize(
    ("description", "host", "card"),
    [
        ("dgx-01 mlx5_3", "dgx-01", 3),
        ("compute-00-01 HCA-1", "compute-00-01", 0),
        ("n1 mlx4_0", "n1", 0),
        ("r-ufm101 HCA-2", "r-ufm101", 1),
        ("lonely", "lonely", 0),
    ],
)
def test_descriptions_of_cards(description, host, card):
    assert host_and_card(description) == (host, card)


def test_descriptions_of_switches():
    assert switch_name("MF0;rack3-leaf:MQM9700/U1") == "rack3-leaf" and switch_name("Quantum") == "Quantum"


def test_switches_of_one_description_are_told_apart(read):
    found = read(ibnetdiscover(CABLES, {"leaf1": "MQM9700", "leaf2": "MQM9700"}))
    assert len({device.name for device in found.devices if device.is_switch}) == 3


def test_a_truncated_file_names_the_line(read):
    whole = ibnetdiscover(CABLES).splitlines()
    last = max(i for i, line in enumerate(whole) if line.startswith("Ca"))
    cut = "\n".join(whole[: last - 5])  # the block of the last host is gone
    with pytest.raises(
        ReadError, match=r"built.txt:\d+: .*has no block: the file breaks off at line"
    ) as caught:
        read(cut)
    at = int(str(caught.value).split(":")[1])
    assert whole[last].split('"')[1] in whole[at - 1]
    found = read(cut, lenient=True)
    assert len(found) == 4 and "has no block" in found.notes[0]


def test_a_line_that_breaks_off(read):
    text = ibnetdiscover(CABLES)
    with pytest.raises(ReadError, match=r":\d+: a port's line breaks off"):
        read(text[: text.rindex('"[') + 3])
    with pytest.raises(ReadError, match=r":\d+: a device's line breaks off"):
        read(text[: text.rindex("Ca") + 8])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("4xNDR", "4xYDR", r":\d+: link speed '4xYDR' is not known; write such as 4xNDR"),
        ("4xNDR", "", r":\d+: no link speed is not known|:\d+: no link speed"),
        ('[2] \t"H', '[1] \t"H', r":\d+: port 1 was told at line \d+ already"),
        ("Switch\t64", "Switch\t1", r":\d+: port 2 of a device with 1 ports"),
        ('[2] \t"H', '[9] \t"H', r":\d+: .*which line \d+ says is cabled to"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(read, old, new, message):
    text = ibnetdiscover(CABLES).replace(old, new, 1)
    with pytest.raises(ReadError, match=message):
        read(text)


def test_lenient_reads_on_over_an_unknown_speed(read):
    found = read(ibnetdiscover(CABLES, speeds={0: "4xYDR"}), lenient=True)
    assert len(found) == 5 and np.isnan(found.rate).sum() == 1 and "4xYDR" in found.notes[0]


def test_a_device_twice(read):
    text = ibnetdiscover(CABLES)
    block = text[text.rindex("Ca\t") :]
    with pytest.raises(ReadError, match=r":\d+: .*has a block already at line \d+"):
        read(text + "\n" + block)


def test_a_fabric_in_pieces(read):
    apart = [*CABLES[:4], (("leaf2", 3), ("other", 2))]
    with pytest.raises(ReadError, match=r":\d+: the fabric is in 2 pieces: \S+ .*has no path to"):
        read(ibnetdiscover(apart))
    assert "2 pieces" in read(ibnetdiscover(apart), lenient=True).notes[0]


def test_circles_are_told_with_their_lines(read):
    text = ibnetdiscover([*CABLES, (("leaf1", 5), ("leaf2", 5)), (("spine", 7), ("spine", 8))])
    notes = read(text).notes
    assert any("leaf1 and leaf2 both carry hosts and are joined" in note for note in notes)
    assert any("a loop: ports 7 and 8 of spine" in note for note in notes) and len(notes) == 2
    assert all(re.match(r"built.txt:\d+: ", note) for note in notes)


def test_aggregation_nodes_inside_switches_are_no_hosts(read):
    inside = [*CABLES, (("hagg1", 1), ("leaf1", 64)), (("hagg2", 1), ("leaf2", 64))]
    found = read(
        ibnetdiscover(inside, dict.fromkeys(("hagg1", "hagg2"), "Mellanox Technologies Aggregation Node"))
    )
    assert len(found) == 5 and len(found.devices) == 6 and "2 aggregation nodes" in found.notes[0]


def test_planes_that_hosts_join_are_one_fabric(read):
    planes = [(("h1a", 1), ("leaf1", 1)), (("h1b", 1), ("leaf2", 1))]
    found = read(ibnetdiscover(planes, {"h1a": "node mlx5_0", "h1b": "node mlx5_1"}))
    assert len(found) == 2


@pytest.mark.parametrize("text", ["", "hello\n", "\x00\x01\x02", "x" * 100_000])
def test_what_is_no_ibnetdiscover(read, text):
    with pytest.raises(ReadError):
        read(text)


def test_messages_before_the_first_block_are_passed_over(read):
    found = read(
        "src/query_smp.c:195; umad bad status 110; Connection timed out\nwarning: slow\n"
        + ibnetdiscover(CABLES)
    )
    assert len(found) == 5 and "passed over" in found.notes[0]


def test_real_files(shared_directory):
    two, three = (
        read_ibnetdiscover(shared_directory / f"samples/fabric/ibnetdiscover-ibtopotool-{n}.topo")
        for n in (2, 3)
    )
    assert len(two) == 2 and two.rate.tolist() == [10e9, 10e9]
    assert len(three) == 10 and sorted(set(three.rate)) == [10e9, 40e9, 56e9, 100e9]
    assert sum(three.a == three.b) == 3  # loops of test cables on one switch
