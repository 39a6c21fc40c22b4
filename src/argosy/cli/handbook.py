"""`argosy claims`, `exercises`, `numbers`, `explain` and `guide`: the two documents, computed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import typer

_JSON = typer.Option(False, "--json", help="Print JSON and nothing else.")
_FILE = typer.Argument(
    None, help="A YAML file of claims of your own; the two documents' without.", show_default=False
)
_TOPICS = ("errors", "paradigms", "classify", "takeaways", "rails")
_SET = typer.Option(
    None, "--set", metavar="NAME=VALUE", help="A number of your own: N=405e9, or A='989 TFLOP/s'."
)


def claims(
    file: Path | None = _FILE,
    as_json: bool = _JSON,
    only: str = typer.Option("", "--only", help="Only claims whose id, section or verdict contains this."),
    everything: bool = typer.Option(False, "--all", help="Also the claims that stand."),
) -> None:
    """Check claims: every number computed by the laws, every verdict by stated rules, the right value
    beside the wrong.
    """
    from argosy import handbook

    checked = handbook.checked_handbook() if file is None else handbook.check_file(file)
    chosen = [each for each in checked if _matches(each, only)]
    if as_json:
        _print("claims", {"claims": [each.to_dict() for each in chosen], "counts": handbook.counts(chosen)})
    else:
        _render("claims", chosen, everything or bool(only))


def _matches(checked: Any, text: str) -> bool:
    claim = checked.claim
    return any(text.lower() in each.lower() for each in (claim.id, claim.section, checked.verdict))


def exercises(
    number: str | None = typer.Argument(
        None, help="1 to 3 (the book's questions), W1 to W6, F1 to F10; a list without.", show_default=False
    ),
    as_json: bool = _JSON,
    settings: list[str] | None = _SET,
    variant: int | None = typer.Option(None, "--variant", help="Random numbers, the same for the same seed."),
    quiz: bool = typer.Option(False, "--quiz", help="Be asked the numbers to know."),
    count: int = typer.Option(10, "--count", min=1, help="Questions of the quiz."),
    seed: int | None = typer.Option(
        None, "--seed", help="Seed of the quiz: the same seed asks the same questions."
    ),
) -> None:
    """Solve the exercises: formula, steps, exact answers, with the book's numbers or your own."""
    from argosy import handbook

    if quiz:
        if number or settings or variant is not None:
            raise typer.BadParameter(
                "--quiz asks the numbers to know: no exercise, --set or --variant with it"
            )
        return _quiz(count, seed, as_json)
    if seed is not None:
        raise typer.BadParameter("--seed is the quiz's; --variant SEED draws an exercise's numbers")
    chosen = [number] if number else handbook.exercise_ids()
    given = _settings(settings)
    if given and not number:
        raise typer.BadParameter("--set needs the number of an exercise")
    if variant is not None:
        solved = [handbook.variant(each, variant, given) for each in chosen]
    else:
        solved = [handbook.solve(each, given) for each in chosen]
    if as_json:
        _print("exercises", {"exercises": [each.to_dict() for each in solved]})
    elif number:
        _render("exercise", solved[0])
    else:
        _render("exercise_list", solved)
    return None


def _quiz(count: int, seed: int | None, as_json: bool) -> None:
    """Ask the numbers to know; the end of the input ends the quiz."""
    import random

    from argosy import handbook

    questions = handbook.quiz(count, random.randrange(10**6) if seed is None else seed)
    if as_json:
        return _print("exercises", {"quiz": questions})
    right = asked = 0
    for place, question in enumerate(questions, start=1):
        line = "\n"
        while line and not line.strip():  # a blank line is no answer: ask again
            print(f"{place}. {question['question']} [{question['unit'] or 'fraction'}] ", end="", flush=True)
            line = sys.stdin.readline()
        if not line:
            print()
            break
        asked += 1
        correct = _is_correct(question, line)
        right += correct
        _render("quiz_answer", question, correct)
    print(f"{right} of {asked} right")
    return None


def _is_correct(question: dict[str, Any], line: str) -> bool:
    """True for a right answer, bare or with a unit: `30 min`, `0.5 h`, `9 x`, `45 %`."""
    from argosy import handbook
    from argosy.facts import FactError
    from argosy.handbook.givens import quantity

    try:
        given = quantity(line, question["unit"], "answer")
    except FactError:
        return False
    return handbook.is_right(question, given)


def numbers(
    as_json: bool = _JSON,
    table: str = typer.Option(
        "", "--table", help="One table only: bandwidth, latency, scaling, failures, ..."
    ),
) -> None:
    """Show the numbers to know: ratios apart from values, with date and direction, computed from facts and
    laws.
    """
    from argosy import handbook

    tables = handbook.tables()
    known = [each["id"] for each in tables]
    if table and table not in known:
        raise typer.BadParameter(f"no table {table!r}; there are: {', '.join(known)}")
    tables = [each for each in tables if table in ("", each["id"])]
    card = [] if table else handbook.card()
    if as_json:
        ratios, values = ([row for row in card if row["kind"] == kind] for kind in ("ratio", "value"))
        _print("numbers", {"ratios": ratios, "values": values, "tables": tables})
    else:
        _render("numbers", card, tables)


def explain(
    quantity: str | None = typer.Argument(
        None, help="A quantity in English or Chinese, or its symbol: mfu, 二分带宽, ρ.", show_default=False
    ),
    as_json: bool = _JSON,
) -> None:
    """Explain a quantity: definition, symbol, unit, formula, source, and where it is used."""
    from argosy import handbook

    if quantity is None:
        entries = [handbook.explain(each) for each in handbook.quantities()]
        return _print("explain", {"quantities": entries}) if as_json else _render("glossary", entries)
    found = handbook.explanations(quantity)
    if len(found) > 1:
        return _print("explain", {"quantities": found}) if as_json else _render("shared_symbol", found)
    (entry,) = found
    return _print("explain", {"quantity": entry}) if as_json else _render("quantity", entry)


def guide(
    topic: str | None = typer.Argument(
        None,
        help="talk, many, fail, power, overhead; or errors, paradigms, classify, takeaways, rails.",
        show_default=False,
    ),
    settings: list[str] | None = _SET,
    as_json: bool = _JSON,
) -> None:
    """Decide: from a symptom to the constraint that binds to the lever that moves it; errors, paradigms,
    takeaways.
    """
    from argosy import handbook
    from argosy.handbook import paradigms

    given = _settings(settings)
    known = (*handbook.question_ids(), *_TOPICS)
    numbered = topic is not None and topic.isdigit() and 1 <= int(topic) <= len(handbook.question_ids())
    if topic is not None and not numbered and topic.lower() not in known:
        raise typer.BadParameter(f"the guide has no topic {topic!r}; there are: {', '.join(known)}")
    if given and (topic is None or topic in ("errors", "takeaways", "paradigms")):
        raise typer.BadParameter("--set needs a question, classify or rails")
    topic = topic.lower() if topic else None
    content: Any
    if topic == "errors":
        key, content = "errors", handbook.errors()
    elif topic == "takeaways":
        key, content = "takeaways", handbook.takeaways()
    elif topic == "paradigms":
        key, content = "paradigms", {**paradigms.table(), "questions": paradigms.questions()}
    elif topic == "classify":
        key, content = "classification", handbook.classify(given)
    elif topic == "rails":
        key, content = "rail_figure", _rail_figure(given)
    elif topic is None:
        key, content = "questions", [handbook.answer(each) for each in handbook.question_ids()]
    else:
        key, content = "answer", handbook.answer(topic, given)
    if as_json:
        _print("guide", {key: content})
    else:
        _render(key, content)


def _rail_figure(given: dict[str, str]) -> dict[str, Any]:
    """The figure with `servers` and `rails` of one's own."""
    from argosy.handbook.rail_figure import rail_figure

    unknown = given.keys() - {"servers", "rails"}
    if unknown or not all(each.isdigit() for each in given.values()):
        raise typer.BadParameter("the rail figure takes --set servers=3 --set rails=2, whole numbers")
    return rail_figure(int(given.get("servers", 3)), int(given.get("rails", 2)))


def _settings(pairs: list[str] | None) -> dict[str, str]:
    """`NAME=VALUE` options as a mapping."""
    settings: dict[str, str] = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not equals or not name or not value:
            raise typer.BadParameter(f"--set {pair!r}: write NAME=VALUE")
        settings[name.strip()] = value.strip()
    return settings


def _print(command: str, payload: dict[str, Any]) -> None:
    from argosy import __version__
    from argosy.facts import load_catalog

    head = {"schema": f"argosy.{command}/1", "version": __version__, "facts_date": load_catalog().facts_date}
    print(json.dumps({**head, **payload}, indent=1, ensure_ascii=False, allow_nan=False))


def _render(what: str, *arguments: Any) -> None:
    """Print one of the tables of `argosy.cli.handbook_tables` or `argosy.cli.handbook_guides`."""
    from argosy.cli import handbook_guides, handbook_tables

    home = handbook_tables if hasattr(handbook_tables, what) else handbook_guides
    getattr(home, what)(*arguments)
