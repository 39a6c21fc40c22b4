"""`--collective`: its time in closed form, and by the flow schedule over the cables."""

from __future__ import annotations

from typing import Any

from argosy.cli.fabric import words
from argosy.cli.fabric.screen import new_table

IN_FABRIC = "sharp"


def timed(topology: Any, network: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The contract's keys of `--collective` and `schedule`; `given`: the options by name.

    With `--algorithm` the time is that algorithm's: the closed form's where there is one, else the schedule's. The bound is
    of sums in the accelerators; where the fabric's switches add up (`sharp`), that of the wires which this uses.
    """
    from argosy.cli.fabric.routing import usual_routing
    from argosy.fabric.request import collective_payload
    from argosy.fabric.schedule import schedule_payload
    from argosy.fabric.switches import without_sums
    from argosy.fabric.topologies import DesignError

    kind, size = given["collective"], words.parse(given["message"], "byte", "--bytes")
    ranks = given["ranks"] or network.accelerators
    payload = collective_payload(network, kind, size, ranks)
    chosen = given["algorithm"]
    schedule = schedule_payload(
        topology, network, kind, size, ranks, algorithm=chosen, routing=usual_routing(topology, given), seed=given["seed"],
        queue_pairs=given["queue_pairs"],
    )  # fmt: skip
    lacking = without_sums(topology)
    if schedule["schedule"] is not None and lacking:
        if chosen == IN_FABRIC:
            raise DesignError(
                f"sharp needs switches that add up (InfiniBand's): {', '.join(lacking)} do not; write another"
            )
        schedule["schedule"]["algorithms_s"].pop(IN_FABRIC, None)
    answer = {**payload, **schedule}
    if chosen is not None:
        answer |= _of_algorithm(payload, schedule, chosen)
    if chosen == IN_FABRIC and lacking is None:
        note = "whether these switches add up (SHARP) is not known: assumed for --algorithm sharp; name them by --switch"
        answer["notes"] = [*answer.get("notes", ()), note]
    return answer


def _of_algorithm(payload: dict[str, Any], schedule: dict[str, Any], chosen: str) -> dict[str, Any]:
    """Time and bus bandwidth of the algorithm that was asked for."""
    found = schedule["schedule"]
    if found is None:
        return {}
    seconds = payload["algorithms_s"].get(chosen, found["time_s"])
    bus = payload["bus_bandwidth_bytes_per_s"] * payload["time_s"] / seconds
    bound = min(payload["bound_s"], found["wire_s"]) if chosen == IN_FABRIC else payload["bound_s"]
    return {"algorithm": chosen, "time_s": seconds, "bus_bandwidth_bytes_per_s": bus, "bound_s": bound}


def show_collective(console: Any, payload: dict[str, Any]) -> None:
    """The collective's answer for people: closed form, bound, then the schedule's steps."""
    from argosy import units

    bus = units.format(payload["bus_bandwidth_bytes_per_s"], "byte/s")
    console.print(
        f"{payload['algorithm']}: {units.format(payload['time_s'], 's')}, bus bandwidth {bus}, "
        f"bound {units.format(payload['bound_s'], 's')}"
    )
    found = payload["schedule"]
    if found is None:
        return
    bus = units.format(found["bus_bandwidth_bytes_per_s"], "byte/s")
    console.print(
        f"by its flow schedule under {found['routing']} routing: {found['algorithm']} "
        f"{units.format(found['time_s'], 's')}, bus bandwidth {bus}; on the wires alone "
        f"{units.format(found['wire_s'], 's')}"
    )
    others = ", ".join(f"{name} {units.format(s, 's')}" for name, s in found["algorithms_s"].items())
    console.print(f"all that apply: {others}")
    table = new_table(
        "steps, seconds at the wires' full rates",
        *("step", "messages", "bytes each", "rounds", "scale-up", "fabric"),
        left=("step",),
    )
    for row in _together(found["steps"]):
        table.add_row(
            row["phase"],
            f"{row['messages']:,}",
            units.format(row["bytes"], "byte"),
            f"{row['rounds']:,.0f}",
            units.format(row["scale_up_s"], "s"),
            units.format(row["fabric_s"], "s"),
        )
    console.print(table)


def _together(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Steps of the same phase that follow each other and are alike, as one."""
    rows: list[dict[str, Any]] = []
    for step in steps:
        same = rows and all(rows[-1][key] == step[key] for key in ("phase", "messages", "bytes"))
        if same:
            rows[-1] = {
                **rows[-1],
                **{k: rows[-1][k] + step[k] for k in ("rounds", "scale_up_s", "fabric_s")},
            }
        else:
            rows.append(step)
    return rows
