"""The goodput ledger against runs whose every second was laid out by hand; its exports read back by the commands they are for."""

# ruff: noqa: E501
from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone
from itertools import pairwise

import numpy as np
import pytest

from argosy.facts import FactError, load_catalog
from argosy.ledger import Record
from argosy.observe import exports
from argosy.observe.goodput import STATES, goodput
from argosy.observe.readers import sacct, training_log, xid
from argosy.reliability.failure_log import read_log
from argosy.reliability.fitted import fit_log

GPUS = 16
START = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)  # noqa: UP017
HEAD = "using world size: 16, data-parallel size: 2, tensor-model-parallel size: 4, pipeline-model-parallel size: 2\n"


def at(seconds: float, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    return (START + timedelta(seconds=seconds)).strftime(form)


def row(second: float, iteration: int, step_s: float = 2.0) -> str:
    return f" [{at(second)}] iteration {iteration:8d}/ 1000 | elapsed time per iteration (ms): {step_s * 1e3:.1f} | global batch size: 32 | lm loss: 2.0 |\n"


class Story:
    """A log written second by second, and the seconds of every state that it ought to give."""

    def __init__(self, interval: int = 10) -> None:
        self.text, self.now, self.interval = "", 0.0, interval
        self.truth = dict.fromkeys(STATES, 0.0)
        self.reached = 0

    def begin(self, iteration: int, restart: float) -> None:
        self.text += f"[{at(self.now)}] launcher\n{HEAD}"
        self.text += f"[after megatron is initialized] datetime: {at(self.now)} \n"
        if iteration:
            self.text += f"  successfully loaded checkpoint from /ckpt at iteration {iteration}\n"
        self.spend("restart", restart)
        self.iteration = iteration

    def steps(self, rows: int, step_s: float = 2.0) -> None:
        for _ in range(rows):
            for _ in range(self.interval):
                self.iteration += 1
                self.spend("rework" if self.iteration <= self.reached else "productive", step_s)
            self.reached = max(self.reached, self.iteration)
            self.text += row(self.now, self.iteration, step_s)

    def save(self, seconds: float) -> None:
        self.text += f"saving checkpoint at iteration {self.iteration} to /ckpt\n  successfully saved checkpoint from iteration {self.iteration} to /ckpt\n"
        self.text += f"(min, max) time across ranks (ms):\n    save-checkpoint .........: ({seconds * 900:.2f}, {seconds * 1000:.2f})\n"
        self.spend("checkpoint", seconds)

    def spend(self, state: str, seconds: float) -> None:
        self.truth[state] += seconds
        self.now += seconds

    def say(self, line: str) -> None:
        self.text += line + "\n"


def crashed_and_resumed() -> Story:
    """100 steps, checkpoint, 50 steps, a hang of 600 s, 300 s until it runs again, 50 steps again, 100 more, an end."""
    story = Story()
    story.begin(0, 60)
    story.steps(10)
    story.save(30)
    story.steps(5)
    story.spend("detection", 600)
    story.say(
        f"[rank3]: {at(story.now)} Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE"
    )
    story.say(f"{at(story.now)} torch.distributed.DistBackendError: NCCL communicator was aborted")
    story.spend("idle", 300)
    story.begin(100, 120)
    story.steps(15)
    story.spend("unattributed", 5)
    story.say(f"[after training is done] datetime: {at(story.now)} ")
    return story


@pytest.fixture
def run(tmp_path):
    def take(story: Story | str, accounting: str = "", kernel: str = "", gpus: float = 0.0):
        paths = []
        for name, text in (
            ("a.log", story if isinstance(story, str) else story.text),
            ("sacct", accounting),
            ("dmesg", kernel),
        ):
            paths.append(tmp_path / name)
            paths[-1].write_text(text, encoding="utf-8")
        jobs = sacct.read(paths[1]).jobs if accounting else ()
        return goodput(training_log.read(paths[0]).logs, jobs, xid.read(paths[2]).faults, gpus)

    return take


def seconds(found) -> dict[str, float]:
    tree = found.record.ledger
    return {state: (node.amount / GPUS if (node := tree.find(state)) else 0.0) for state in STATES}


def closes(found) -> bool:
    timeline = found.record.timeline
    joined = all(abs(a.end_s - b.start_s) < 1e-6 for a, b in pairwise(timeline))
    gpus = max(each.gpus for each in found.attempts)
    return joined and found.record.ledger.amount == pytest.approx(found.elapsed_s * gpus, rel=1e-9)


def test_a_crash_and_a_restart(run):
    story = crashed_and_resumed()
    found = run(story)
    assert seconds(found) == pytest.approx(story.truth, abs=1e-3)
    assert closes(found) and isinstance(found.record, Record) and found.record.kind == "observation"
    assert found.elapsed_s == pytest.approx(story.now)
    assert found.share == pytest.approx(500 / story.now)  # 250 steps of 2 s
    (interruption,) = found.interruptions
    assert (interruption.cause.name, interruption.cause.category) == ("timeout", "nccl-watchdog")
    assert interruption.lost_iterations == 50 and interruption.down_s == 600 + 300 + 120
    tree = found.record.ledger
    assert {node.name for node in tree.find("rework").children} == {"timeout"}
    assert {node.name for node in tree.find("restart").children} == {"first start", "timeout"}
    assert interruption.cause.evidence[0].line == 1 + next(
        k for k, line in enumerate(story.text.splitlines()) if "Watchdog" in line
    )


def test_mean_time_between_failures_is_that_of_the_running_time(run):
    found = run(crashed_and_resumed())
    value, low, high = found.mtbf_s
    assert (
        found.failures == 1
        and value == pytest.approx(found.running_s)
        and found.running_s == pytest.approx(found.elapsed_s - 300)
    )
    # exact central 90 % of one Poisson event: χ²(0.05, 2)/2 = 0.0513 and χ²(0.95, 4)/2 = 4.744
    assert (value / high, value / low) == pytest.approx((0.0513, 4.744), rel=1e-3)
    answer = found.to_dict()
    assert (
        answer["mtbf_s"]["failures"] == 1
        and answer["goodput"] == found.share
        and answer["ledger"]["unit"] == "gpu_s"
    )


JOBS = "JobID|JobName|State|ExitCode|Submit|Start|End|Elapsed|AllocTRES|NodeList\n"


def job(
    ident: int,
    state: str,
    submit: float,
    start: float,
    end: float,
    name: str = "train",
    nodes: str = "n[1-2]",
) -> str:
    times = "|".join(at(each, "%Y-%m-%dT%H:%M:%S") for each in (submit, start, end))
    return f"{ident}|{name}|{state}|1:0|{times}|00:10:00|gres/gpu=16|{nodes}\n{ident}.batch|batch|{state}|1:0|{times}|00:10:00|gres/gpu=16|n1\n"


def test_accounting_tells_of_the_queue_and_of_ends(run):
    story = Story()
    story.spend("queue", 100)
    begun = story.now
    story.begin(0, 60)
    story.steps(10)
    story.spend("detection", 200)  # no line of the log: only Slurm knows when it ended
    ended = story.now
    story.spend("idle", 50)
    again = story.now
    story.spend("queue", 400)
    resumed = story.now
    story.begin(0, 60)
    story.steps(20)
    jobs = JOBS + job(1, "NODE_FAIL", 0, begun, ended) + job(2, "COMPLETED", again, resumed, story.now)
    found = run(story, jobs + job(3, "FAILED", 0, 10, 2000, "another"))
    assert seconds(found) == pytest.approx(story.truth, abs=1e-3) and closes(found)
    assert [each.cause.name for each in found.interruptions] == ["node-fail"]
    assert found.ettr == pytest.approx(400 / (story.now - 500))
    assert any("first step again" in each for each in found.warnings)


def test_restarts_inside_one_job(run):
    story = Story()
    story.begin(0, 10)
    story.steps(10)
    story.begin(100, 10)
    story.steps(5)
    found = run(story, JOBS + job(1, "COMPLETED", 0, 0, story.now))
    assert [each.cause.name for each in found.interruptions] == [
        "unknown"
    ]  # the job's end says nothing of it
    assert [each.job.id for each in found.attempts] == ["1", "1"]
    assert seconds(found) == pytest.approx(story.truth, abs=1e-3) and closes(found)


def test_a_job_that_died_before_its_first_line(run):
    story = Story()
    story.begin(0, 10)
    story.steps(5)
    ended = story.now
    story.spend("restart", 90)  # job 2: no log at all
    again = story.now
    story.begin(50, 10)
    story.steps(5)
    jobs = (
        JOBS
        + job(1, "FAILED", 0, 0, ended)
        + job(2, "FAILED", ended, ended, again)
        + job(3, "COMPLETED", again, again, story.now)
    )
    found = run(story, jobs)
    assert len(found.attempts) == 3 and [each.cause.name for each in found.interruptions] == [
        "error",
        "error",
    ]
    assert seconds(found)["productive"] == 200 and closes(found)


ENDS = {
    "xid": ("xid-79", "faulty-gpu", "", "{} n1 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n"),
    "memory": ("xid-48", "gpu-hbm", "", "{} n1 kernel: NVRM: Xid (PCI:0000:3b:00): 48, pid=1, DBE\n"),
    "off the bus": ("fallen-off-bus", "faulty-gpu", "", "{} n1 kernel: NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.\n"),
    "harmless xid": ("error", "software-bug", "RuntimeError: x", "{} n1 kernel: NVRM: Xid (PCI:0000:3b:00): 63, remapped\n"),
    "of another node": ("error", "software-bug", "RuntimeError: x", "{} n9 kernel: NVRM: Xid (PCI:0000:3b:00): 79, off\n"),
    "oom": ("oom", "software-bug", "torch.OutOfMemoryError: CUDA out of memory.", ""),
    "limit": ("time-limit", None, "slurmstepd: error: *** JOB 1 ON n1 CANCELLED AT 2026-03-01T12:03:30 DUE TO TIME LIMIT ***", ""),
    "cancelled": ("cancelled", None, "slurmstepd: error: *** JOB 1 ON n1 CANCELLED AT 2026-03-01T12:03:30 ***", ""),
    "cancelled after a hang": (
        "timeout", "nccl-watchdog",
        "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(\nslurmstepd: error: *** JOB 1 ON n1 CANCELLED AT 2026-03-01T12:03:30 ***", ""),
    "nobody knows": ("unknown", "any", "", ""),
}  # fmt: skip


@pytest.mark.parametrize(("name", "category", "last", "kernel"), ENDS.values(), ids=list(ENDS))
def test_causes(run, name, category, last, kernel):
    story = Story()
    story.begin(0, 10)
    story.steps(10)
    story.say(last)
    ended = story.now
    story.spend("idle", 100)
    story.begin(0, 10)
    story.steps(10)
    jobs = JOBS + job(1, "RUNNING", 0, 0, ended) if name == "error" else ""
    found = run(story, jobs, kernel.format(at(ended - 5, "%Y-%m-%dT%H:%M:%S+00:00")))
    cause = found.interruptions[0].cause
    assert (cause.name, cause.category) == (name, category) and cause.failure == (category is not None)


def test_logs_of_two_ranks_are_one_run_and_another_job_is_left_out(tmp_path):
    story = crashed_and_resumed()
    for name in ("a", "b"):
        (tmp_path / name).write_text(story.text, encoding="utf-8")
    other = "  num_layers ............................ 3\n" + row(5, 7)
    (tmp_path / "c").write_text(other, encoding="utf-8")
    logs = [log for name in "abc" for log in training_log.read(tmp_path / name).logs]
    found = goodput(logs)
    assert seconds(found) == pytest.approx(story.truth, abs=1e-3)
    assert any("at the same time" in each for each in found.warnings) and any(
        "another job" in each for each in found.warnings
    )


def test_a_log_without_stamps_is_laid_end_to_end(run):
    text = HEAD + "".join(row(0, i).replace(f"[{at(0)}]", "") for i in range(10, 110, 10))
    found = run(text)
    assert not found.clocked and found.elapsed_s == pytest.approx(200) and found.share == pytest.approx(1.0)
    assert any("no stamps" in each for each in found.warnings)


def test_what_is_no_run(run):
    assert goodput([]) is None
    assert run("nothing\n") is None
    assert run(row(0, 10, 0.0)) is None


def test_random_logs_close(run):
    random = np.random.default_rng(5)
    for _ in range(20):
        text, now, iteration = "", 0.0, 0
        for _ in range(int(random.integers(1, 30))):
            now += float(random.integers(-50, 300))
            iteration = max(0, iteration + int(random.integers(-30, 60)))
            kind = random.integers(6)
            text += (
                HEAD
                if kind == 0
                else f"saving checkpoint at iteration {iteration} to /c\n"
                if kind == 1
                else ""
            )
            text += "[INFO] DistributedError: x\n" if kind == 2 else ""
            text += row(now, iteration, float(random.uniform(0, 20)))
        found = run(text)
        if found is not None:
            assert closes(found) and 0 <= found.share <= 1 + 1e-9
            assert all(node.amount >= 0 for _, node in found.record.ledger.walk())


# --- back to a plan -----------------------------------------------------------------------------------------------------


def test_failures_are_read_by_fit_failures(run, tmp_path):
    found = run(
        crashed_and_resumed(),
        kernel=f"{at(300, '%Y-%m-%dT%H:%M:%S+00:00')} n1 kernel: NVRM: Xid (PCI:0000:3b:00): 79, off\n",
    )
    text = exports.failures_csv(found)
    assert text.splitlines()[0] == "start_s,end_s,component,category,node,cause" and "xid-79" not in text
    path = tmp_path / "failures.csv"
    path.write_text(text + text.splitlines()[1] + "\n", encoding="utf-8")  # fitting wants two
    log = read_log(path, end=f"{found.elapsed_s} s")
    assert [each.category for each in log.failures] == [
        "nccl-watchdog"
    ] * 2 and log.window_s == pytest.approx(found.elapsed_s)
    fitted = fit_log(log, "a run", {"node": 2.0, "gpu": 16.0})
    assert fitted["after"]["nccl-watchdog"]["count"] == 2


def test_overrides_are_read_by_the_catalog(run):
    found = run(crashed_and_resumed())
    fitted = exports.reliability(found, "run 7", nodes=2)
    path = "reliability.llama3-table5.nccl-watchdog"
    assert list(fitted["overrides"]) == [path]
    fact = load_catalog().with_overrides(fitted["overrides"]).facts[path]
    assert (
        fact.value == pytest.approx(1 / (found.elapsed_s * 16), rel=1e-5)
        and fact.low < fact.value < fact.high
        and "run 7" in fact.source
    )
    assert (
        fitted["scenario"]["reliability"]["detection"] == "600 s"
        and fitted["scenario"]["reliability"]["restart"] == "120 s"
    )


def test_a_run_without_failures_fits_nothing(run):
    story = Story()
    story.begin(0, 10)
    story.steps(5)
    found = run(story)
    assert found.interruptions == () and found.mtbf_s[0] == math.inf and found.mtbf_s[1] > 0
    with pytest.raises(FactError, match="no failure"):
        exports.reliability(found, "x", 2)


def test_a_scenario_extends_what_was_measured(run, tmp_path):
    from ruamel.yaml import YAML

    from argosy.spec.load import load

    fitted = exports.reliability(run(crashed_and_resumed()), "run 7", nodes=2)
    base = tmp_path / "measured.yaml"
    with base.open("w", encoding="utf-8") as file:
        YAML(typ="safe").dump(fitted["scenario"], file)
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(
        "name: a\nextends: [measured.yaml]\nfleet: {accelerator: H100-SXM, count: 16}\n"
        "training: [{name: t, model: llama-3.1-8b, stages: [{tokens: 1 T, sequence_length: 8192, global_batch: 32 sequences}]}]\n",
        encoding="utf-8",
    )
    loaded = load(scenario)
    assert loaded.reliability.detection == 600 and loaded.reliability.restart.total == 120


def test_step_times_are_read_by_calibrate(tmp_path):
    from argosy.spec.load import load
    from argosy.study.measurements import read as read_measurements

    text = crashed_and_resumed().text.replace(
        HEAD, HEAD + "  seq_length .......... 8192\n  micro_batch_size .... 1\n"
    )
    (tmp_path / "a.log").write_text(text, encoding="utf-8")
    logs = training_log.read(tmp_path / "a.log").logs
    table, told = exports.measurements_csv(logs)
    assert told == []
    assert table.splitlines() == [
        "step_time_s,gpus,tp,pp,cp,micro_batch,sequence_length,global_batch_sequences",
        "2,16,4,2,,1,8192,32",
    ]
    (tmp_path / "steps.csv").write_text(table, encoding="utf-8")
    (tmp_path / "scenario.yaml").write_text(
        "name: a\nfleet: {accelerator: H100-SXM, count: 16}\n"
        "training: [{name: t, model: llama-3.1-8b, stages: [{tokens: 1 T, sequence_length: 8192, global_batch: 32 sequences}]}]\n",
        encoding="utf-8",
    )
    (measured,), ignored = read_measurements(
        tmp_path / "steps.csv", load(tmp_path / "scenario.yaml").training[0], 16
    )
    assert measured.step_s == 2.0 and measured.sequence_length == 8192 and ignored == []
    (tmp_path / "b.log").write_text(row(0, 1), encoding="utf-8")
    _, told = exports.measurements_csv(training_log.read(tmp_path / "b.log").logs)
    assert "gpus is not in the log" in told[0]


def test_real_logs_close(shared_directory):
    for path in sorted((shared_directory / "samples/trainlog").iterdir()):
        found = goodput(training_log.read(path).logs)
        gpus = max(each.gpus for each in found.attempts)
        assert found.record.ledger.amount == pytest.approx(found.elapsed_s * gpus, rel=1e-9)
        assert 0 < found.share <= 1 + 1e-12


def test_the_command_exports_what_goes_back_to_a_plan(tmp_path, capsys):
    from argosy.cli.main import run as command

    story = crashed_and_resumed()
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "train.log").write_text(
        story.text.replace(HEAD, HEAD + "  seq_length ......... 8192\n"), encoding="utf-8"
    )
    (folder / "sacct.txt").write_text(
        JOBS + job(1, "FAILED", 0, 0, 890) + job(2, "COMPLETED", 890, 1190, story.now), encoding="utf-8"
    )
    assert command(["diagnose", str(folder), "--json", "--export", str(tmp_path / "out")]) == 0
    made = {path.name for path in (tmp_path / "out").iterdir()}
    assert made == {"failures.csv", "steps.csv", "overrides.yaml", "scenario.yaml"}
    assert (
        load_catalog()
        .with_overrides(tmp_path / "out/overrides.yaml")
        .facts["reliability.llama3-table5.nccl-watchdog"]
        .value
        > 0
    )
    assert "never seen here" in capsys.readouterr().err
