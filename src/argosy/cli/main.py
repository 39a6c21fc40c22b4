"""The `argosy` command: finds the room for a subcommand, and turns what goes wrong into exit codes.

Exit codes: 0 ok, 1 bad input, 2 infeasible, 3 an assertion missed; a bug gives a traceback and 70.
Only the module of the subcommand that was asked for is imported, so that `argosy --help` stays quick.
"""

from __future__ import annotations

import os
import sys
import traceback
from importlib import import_module
from io import TextIOWrapper
from typing import Any

import typer

from argosy.mistakes import is_mistake

BAD_INPUT, BUG, INTERRUPTED = 1, 70, 130

# name: (module:function or sub-app, one line of help, panel)
COMMANDS: dict[str, tuple[str, str, str]] = {
    "plan": (
        "argosy.cli.plan:plan",
        "Plan a scenario: days, MFU, megawatts, dollars, and where every GPU-second goes.",
        "Decide",
    ),
    "simulate": (
        "argosy.cli.simulate:simulate",
        "Simulate a job's life: when it finishes, where the time goes, what to fix first.",
        "Decide",
    ),
    "serving": (
        "argosy.cli.serving:serving",
        "Size an inference fleet: replicas, spares, latencies, dollars per million tokens, under a trace.",
        "Decide",
    ),
    "diff": (
        "argosy.cli.diff:diff",
        "Compare two scenarios or saved plans: changed inputs, losses, days and dollars.",
        "Decide",
    ),
    "sensitivity": (
        "argosy.cli.sensitivity:sensitivity",
        "Which uncertain fact moves the answer most, and which measurement would shrink it.",
        "Trust",
    ),
    "recommend": (
        "argosy.cli.recommend:recommend",
        "The best plans within limits: what to buy, which limit binds, what more of it would buy.",
        "Decide",
    ),
    "sweep": (
        "argosy.cli.sweep:app",
        "Plan every point of a study, interruptible; show tables, heat maps, fronts, scaling curves.",
        "Decide",
    ),
    "fit-failures": (
        "argosy.cli.fit_failures:fit_failures",
        "Failure rates and Weibull shapes from a log, as an overrides file.",
        "Trust",
    ),
    "fabric": (
        "argosy.cli.fabric:app",
        "Build a fabric from its cables: switches, links, bisection, price, power.",
        "Decide",
    ),
    "facility": (
        "argosy.cli.facility:facility",
        "Power tree, waveform, cooling, power cap, cost, carbon and water of a scenario.",
        "Decide",
    ),
    "schedule": (
        "argosy.cli.schedule:schedule",
        "The cluster's queue: a trace or a drawn load under a policy; why a job waits; policies compared.",
        "Decide",
    ),
    "timeline": (
        "argosy.cli.timeline:timeline",
        "One step of the chosen layout, operation by operation: chart, Perfetto trace.",
        "Decide",
    ),
    "export": (
        "argosy.cli.export:app",
        "Write the chosen layout as files that start the job: Megatron-LM, torchtitan, Slurm, Kubernetes, NCCL.",
        "Decide",
    ),
    "web": ("argosy.cli.web:web", "The what-if page, in a browser, computed on this machine.", "Decide"),
    "catalog": (
        "argosy.cli.catalog:app",
        "The facts: list, show with sources and disagreements, lint.",
        "Know",
    ),
    "schema": ("argosy.cli.schema:schema", "The JSON schema of a scenario file, for editors.", "Know"),
    "claims": (
        "argosy.cli.handbook:claims",
        "Every claim of the two handbook documents, recomputed.",
        "Know",
    ),
    "exercises": (
        "argosy.cli.handbook:exercises",
        "The exercises: formula, steps, exact answers, your own numbers.",
        "Know",
    ),
    "numbers": (
        "argosy.cli.handbook:numbers",
        "The quick card: numbers to know, computed from facts and laws.",
        "Know",
    ),
    "explain": (
        "argosy.cli.handbook:explain",
        "What a quantity means: symbol, unit, formula, source.",
        "Know",
    ),
    "guide": (
        "argosy.cli.handbook:guide",
        "From a symptom to the constraint that binds to the lever that moves it.",
        "Know",
    ),
    "calibrate": (
        "argosy.cli.calibrate:calibrate",
        "Turn a few measured steps into overrides of the facts that they tell about.",
        "Trust",
    ),
    "ablation": (
        "argosy.cli.ablation:ablation",
        "What each of several changes gains at one layout, and where in the ledger.",
        "Decide",
    ),
    "pareto": (
        "argosy.cli.pareto:pareto",
        "Layouts and fleet sizes that nothing beats in time, money and energy at once.",
        "Decide",
    ),
    "cost": (
        "argosy.cli.cost:cost",
        "What a run costs: purchase, bill, market, tokens, what moves it; its carbon and its water.",
        "Decide",
    ),
    "capacity": (
        "argosy.cli.capacity:capacity",
        "Accelerators by quarter: deliveries, bring-up, burn-in, demand; whether buying or renting pays.",
        "Decide",
    ),
    "sites": (
        "argosy.cli.sites:sites",
        "The same plan at many sites: price, carbon, climate, PUE, water, distance; ranked.",
        "Decide",
    ),
    "diagnose": (
        "argosy.cli.diagnose:diagnose",
        "Where a running job's time and MFU went by its own files, who is to blame, what a repair saves.",
        "Trust",
    ),
    "testbed": (
        "argosy.cli.testbed:app",
        "Small real fleets on this machine (collectives, training, failures, sites, serving), beside the simulators.",
        "Trust",
    ),
    "validate": ("argosy.cli.validate:validate", "Predict measured runs and show the errors.", "Trust"),
}


def application(wanted: str | None) -> typer.Typer:
    """The command tree, with the real command behind `wanted` and one-line signposts for all others."""
    app = typer.Typer(
        name="argosy",
        help="Plan, simulate and diagnose fleets of ten thousand accelerators and more.",
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    for name, (target, summary, panel) in COMMANDS.items():
        if wanted in (name, "*"):
            module, attribute = target.split(":")
            command = getattr(import_module(module), attribute)
            if isinstance(command, typer.Typer):
                app.add_typer(command, name=name, help=summary, rich_help_panel=panel)
            else:
                app.command(name, rich_help_panel=panel)(command)
        else:
            app.command(name, help=summary, rich_help_panel=panel)(_signpost)
    return app


def _flags_without_type(command: Any, parent: Any = None) -> None:
    """Let the help of every flag of the tree be without `<bool>`, which says nothing to a reader."""
    context = command.context_class(command, parent=parent, **command.context_settings)
    for option in command.get_params(context):  # with --help, which no declaration holds
        if getattr(option, "is_flag", False):
            option.metavar = ""
    for each in getattr(command, "commands", {}).values():
        _flags_without_type(each, context)


def _signpost() -> None:
    """Stands for a command that was not asked for; only its help line is shown."""


def _version(show: bool) -> None:
    if show:
        from argosy import __version__

        print(f"argosy {__version__}")
        raise typer.Exit


def _root(
    version: bool = typer.Option(
        False, "--version", help="Print the version and leave.", callback=_version, is_eager=True
    ),
) -> None:
    """Plan, simulate and diagnose fleets of ten thousand accelerators and more."""


def main(arguments: list[str] | None = None) -> None:
    """Run one command and leave with its exit code."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: list[str]) -> int:
    """Run one command; its exit code. User mistakes are told in one message each, bugs with their traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show µ shows a question mark
    completing = "_ARGOSY_COMPLETE" in os.environ
    wanted = "*" if completing else next((word for word in arguments if not word.startswith("-")), None)
    try:
        command = typer.main.get_command(application(wanted))
        _flags_without_type(command)
        result = command(arguments, standalone_mode=False, prog_name="argosy")
        return result if isinstance(result, int) else 0
    except typer.exceptions.TyperException as mistake:
        context = getattr(mistake, "ctx", None)
        path = context.command_path if context else f"argosy {wanted}" if wanted in COMMANDS else "argosy"
        where = f" (see {path} --help)"
        message = mistake.format_message()
        if message:
            print(f"argosy: {message}{where}", file=sys.stderr)
        return BAD_INPUT
    except (KeyboardInterrupt, typer.Abort):
        print("argosy: interrupted", file=sys.stderr)
        return INTERRUPTED
    except (BrokenPipeError, SystemExit) as leaving:
        if not isinstance(leaving, BrokenPipeError) and not isinstance(leaving.__context__, BrokenPipeError):
            raise
        # The reader of our output left (`argosy ... | head`): nothing more to say, and no traceback at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if is_mistake(error):
            if isinstance(error, OSError):
                print(f"argosy: {error.filename}: {error.strerror}", file=sys.stderr)
                return BAD_INPUT
            placed = type(error).__name__ == "ScenarioError"  # each of its lines begins with file:line:column
            print(str(error) if placed else f"argosy: {error}", file=sys.stderr)
            return int(getattr(error, "exit_code", BAD_INPUT))
        traceback.print_exc()
        print(
            "argosy: this is a bug in Argosy, not in your input; please report it with the lines above",
            file=sys.stderr,
        )
        return BUG
