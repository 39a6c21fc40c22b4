"""What a command's answer leaves out of a scenario, told on standard error."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argosy.spec import Scenario


def tell_left_out(scenario: Scenario) -> None:
    """Says that the services of a scenario are not in an answer about its training."""
    from argosy.planning.context import without_services

    for told in without_services(scenario) if scenario.training else ():
        print(f"argosy: {told}", file=sys.stderr)
