"""The rail figure: the document's three servers on two rails, and its rule for any size."""

import itertools

from argosy.handbook.rail_figure import rail_figure


def test_three_servers_on_two_rails_are_six_edges():
    figure = rail_figure(3, 2)
    assert figure["edges"] == list(itertools.chain.from_iterable([(s, 0, 0), (s, 1, 1)] for s in range(3)))
    assert figure["mermaid"].count("-->") == 6
    assert figure["mermaid"].startswith("flowchart LR\n")
    assert not figure["problems"]


def test_card_i_goes_to_rail_i_and_every_server_once_to_every_rail():
    edges = rail_figure(5, 8)["edges"]
    assert all(card == rail for _, card, rail in edges)
    assert len({(server, rail) for server, _, rail in edges}) == len(edges) == 40
