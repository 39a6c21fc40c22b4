"""Messages of NCCL and the watchdog, Xid lines, nccl-tests, sacct and step times as observe reads them."""
# ruff: noqa: E501

from __future__ import annotations

import gzip
import math
import os

import numpy as np
import pytest

from argosy.observe.readers import nccl_messages, nccl_tests, sacct, step_times, text, xid
from argosy.reliability.rates import categories


@pytest.fixture
def file(tmp_path):
    def write(content: str | bytes, name: str = "a.log"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        os.utime(path, (1785542400, 1785542400))  # 2026-08-01
        return path

    return write


# --- NCCL and the watchdog ---------------------------------------------------------------------------------------------

INFO = """n1:100:100 [0] NCCL INFO NCCL version 2.26.2+cuda12.8
n1:100:200 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.1<0>
n1:100:200 [0] NCCL INFO Using network IB
n1:100:200 [0] NCCL INFO ncclCommInitRankConfig comm 0x1 rank 8 nranks 16 cudaDev 0 nvmlDev 0 busId 1e0 commId 0x15 - Init COMPLETE
n1:100:200 [0] NCCL INFO ncclCommInitRankConfig comm 0x2 rank 0 nranks 4 cudaDev 0 nvmlDev 0 busId 1e0 commId 0x16 - Init COMPLETE
n1:100:200 [0] NCCL INFO Init timings - ncclCommInitRankConfig: rank 8 nranks 16 total 1.16 (kernels 0.18, alloc 0.04, bootstrap 0.93)
n1:100:201 [0] NCCL INFO Channel 03/0 : 1[1] -> 8[0] [receive] via NET/IB/0/GDRDMA
n1:100:201 [0] NCCL INFO Channel 00/0 : 8[0] -> 9[1] via P2P/IPC
n1:100:201 [0] NCCL INFO Channel 01 : 8[0] -> 9[1] via SHM/direct/direct
n1:100:201 [0] NCCL INFO Channel 01/0 : 8[0] -> 0[0] [send] via NET/Socket/1
n1:100:201 [0] NCCL INFO Connected all rings, use ring PXN 1 GDR 0
n2:101:101 [1] misc/ibvwrap.cc:63 NCCL WARN Failed to open libibverbs.so[.1]
"""
PREFIX = "[E810 03:04:11.5 ProcessGroupNCCL.cpp:683]"
WORK = "WorkNCCL(SeqNum=78, OpType=ALLREDUCE, NumelIn=80, NumelOut=80, Timeout(ms)=600000)"
HANG = f"""[rank1]:{PREFIX} [Rank 1] Watchdog caught collective operation timeout: {WORK} ran for 600096 milliseconds before timing out.
[rank5]:{PREFIX} [PG ID 1 PG GUID 3 Rank 1]  failure detected by watchdog at work sequence id: 78 PG status: last enqueued work: 79, last completed work: 77
[rank0]:{PREFIX} [PG ID 0 PG GUID 0(default_pg) Rank 0] Received a dump signal due to a collective timeout from  rank 1 and we will try our best to dump the debug info. Last enqueued NCCL work: 77, last completed NCCL work: 18446744073709551615.
[rank2]:{PREFIX} [PG ID 0 PG GUID 0(default_pg) Rank 2] Process group watchdog thread terminated with exception: [Rank 2] Watchdog caught collective operation timeout: {WORK} ran for 600087 milliseconds
"""


def test_messages_of_nccl(file):
    path = file(INFO)
    assert nccl_messages.looks_like(path.read_bytes(), path)
    batch = nccl_messages.read(path)
    assert batch.input.status == "read"
    by_kind: dict[str, list] = {}
    for message in batch.messages:
        by_kind.setdefault(message.kind, []).append(message)
    assert by_kind["version"][0].values["version"] == "2.26.2+cuda12.8"
    assert [each.values["transport"] for each in by_kind["transport"]] == [
        "NET/IB",
        "P2P/IPC",
        "SHM/direct",
        "NET/Socket",
    ]
    assert [each.values["gdrdma"] for each in by_kind["transport"]] == [True, False, False, False]
    assert [each.values["device"] for each in by_kind["transport"]] == [0, None, None, 1]
    assert (by_kind["transport"][0].values["source"], by_kind["transport"][0].values["target"]) == (1, 8)
    assert by_kind["init"][0].values["ranks"] == 16 and by_kind["init"][-1].values["bootstrap_s"] == 0.93
    assert by_kind["topology"][0].values == {"connected": "rings", "pxn": True, "gdr": False}
    assert by_kind["topology"][0].rank == 8  # of the largest communicator that its process is in
    assert by_kind["network"][0].values["transport"] == "NET/IB"
    assert by_kind["warning"][0].node == "n2" and "libibverbs" in by_kind["warning"][0].values["text"]


def test_messages_of_the_watchdog(file):
    found = nccl_messages.read(file(HANG)).messages
    assert [each.kind for each in found] == ["timeout", "last-work", "dump", "exception"]
    assert [each.rank for each in found] == [1, 5, 0, 2]
    assert found[0].values["collective"] == "all_reduce" and found[0].values["sequence"] == 78
    assert (
        found[0].values["timeout_s"] == 600
        and found[0].values["ran_s"] == 600.096
        and found[0].values["numel"] == 80
    )
    assert (
        found[1].values["enqueued"] == 79
        and found[1].values["completed"] == 77
        and found[1].values["group_rank"] == 1
    )
    assert (
        found[2].values["from_rank"] == 1 and found[2].values["completed"] is None
    )  # 2⁶⁴ − 1: none completed
    assert found[0].time_s == 1754795051.5  # the stamp has no year: the latest before the file's last change


def test_real_messages(shared_directory):
    folder = shared_directory / "samples/nccldebug"
    socket = nccl_messages.read(folder / "nccl_info_socket_fallback_4ranks.log").messages
    assert {each.values["transport"] for each in socket if each.kind == "transport"} == {"NET/Socket"}
    hang = nccl_messages.read(folder / "torch_watchdog_hang_8rank_2v6_split.log").messages
    timed_out = {each.rank for each in hang if each.kind == "timeout"}
    assert timed_out == {1, 2, 3, 5, 6, 7}
    at_77 = {each.rank for each in hang if each.values.get("enqueued") == 77}
    assert at_77 == {0, 4}  # the two that never came


# --- Xid ----------------------------------------------------------------------------------------------------------------

KERNEL = {
    "[Sun Feb 22 16:24:18 2026] NVRM: Xid (PCI:0000:9b:00): 119, pid=2024380, name=nvidia-smi, Timeout after 6s": (
        119, None, "firmware", None, "0000:9b:00", "nvidia-smi (2024380)", 1771777458.0, None, "reset-gpu"),
    "[171167.620236] NVRM: Xid (PCI:0009:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 01 (0x021425c6 0x00000000)": (
        149, 0x46, "nvlink", None, "0009:01:00", None, None, 171167.620236, "nvlink-workflow"),
    "NVRM: Xid (PCI:0000:00:1e): 144, SAW_MVB Nonfatal XC 1 i 2 Link 01 [0x00000021]": (
        144, 1, "nvlink", None, "0000:00:1e", None, None, None, "nvlink-workflow"),
    "2026-03-01T12:00:00,000000+01:00 NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.": (
        79, None, "fallen-off-bus", None, "0000:3b:00", None, 1772362800.0, None, "restart-node"),
    "Mar  1 12:00:00 n1 kernel: [5.5] NVRM: GPU 0000:01:00.0: GPU has fallen off the bus.": (
        None, None, "fallen-off-bus", "n1", "0000:01:00", None, 1772366400.0, None, "restart-node"),
    "2026-03-01T12:00:00+00:00 n2 kernel: NVRM: Xid (PCI:0008:01:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)": (
        154, 2, "recovery-action", "n2", "0008:01:00", None, 1772366400.0, None, "restart-node"),
    "NVRM: Xid (PCI:0000:01:00 GPU-I:05): 94, pid=7194, Contained: CE User Channel (0x9). RST: No, D-RST: No": (
        94, None, "memory", None, "0000:01:00", "? (7194)", None, None, "restart-application"),
    "NVRM: Xid 31, pid=12, name=python, Ch 00000008": (31, None, "application", None, None, "python (12)", None, None, "restart-application"),
    "NVRM: Xid (0000:03:00): 63, Row Remapper: New row marked for remapping": (63, None, "memory", None, "0000:03:00", None, None, None, "ignore"),
    "[1.5] nvidia-nvswitch0: SXid (PCI:0000:86:00.0): 11001, Fatal, Link 46 ingress invalid command": (
        11001, None, "nvswitch-fatal", None, "0000:86:00", None, None, 1.5, "reset-gpu"),
    "nvidia-nvswitch3: SXid (PCI:0000:85:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error": (
        12028, None, "nvswitch-non-fatal", None, "0000:85:00", None, None, None, "ignore"),
    "[Jul 09 2026 18:14:07] [ERROR] [tid 12727] detected NVSwitch non-fatal error 12028 on fid 0 on NVSwitch pci bus id 00000000:86:00.0 physical id 3 port 61": (
        12028, None, "nvswitch-non-fatal", None, "0000:86:00", None, 1783620847.0, None, "ignore"),
    '{"__REALTIME_TIMESTAMP":"1772366400000000","_HOSTNAME":"n3","MESSAGE":"NVRM: Xid (PCI:0000:01:00): 48, pid=1, name=a, DBE"}': (
        48, None, "memory", "n3", "0000:01:00", "a (1)", 1772366400.0, None, "reset-or-drain"),
    "6,3964,206764307,-;NVRM: Xid (PCI:0000:01:00): 13, Graphics SM Warp Exception": (
        13, None, "application", None, "0000:01:00", None, None, 206.764307, "restart-application"),
    "NVRM: Xid (PCI:0000:01:00): 999, something of next year": (999, None, "unknown", None, "0000:01:00", None, None, None, "none stated"),
}  # fmt: skip


@pytest.mark.parametrize(("line", "wanted"), KERNEL.items(), ids=[str(each[0]) for each in KERNEL.values()])
def test_lines_of_the_kernel(file, line, wanted):
    path = file(f"something else\n{line}\n")
    assert xid.looks_like(path.read_bytes(), path)
    (event,) = xid.read(path).faults
    code, sub_code, kind, node, pci, process, time_s, uptime_s, action = wanted
    assert (event.line, event.code, event.sub_code, event.kind, event.node, event.pci) == (
        2,
        code,
        sub_code,
        kind,
        node,
        pci,
    )
    assert event.process == process and xid.action_of(event) == action
    assert math.isnan(event.time_s) if time_s is None else event.time_s == time_s
    assert math.isnan(event.uptime_s) if uptime_s is None else event.uptime_s == uptime_s


def test_what_is_no_xid(file):
    batch = xid.read(
        file("NVRM: Xid error: xyz\nmy Xid (x): 79 is a joke\nbus stop\n[12.5] usb 1-1: new device\n")
    )
    assert batch.faults == () and batch.input.problems[0].line == 1


def test_the_table_of_xids_names_known_kinds_of_failures():
    assert len(xid.meanings()) > 60
    assert {entry["category"] for entry in xid.meanings().values()} <= categories().keys()
    assert xid.meanings()[79]["action"] == "restart-node" and xid.meanings()[95]["action"] == "reset-gpu"


def test_real_kernel_logs(shared_directory):
    folder = shared_directory / "samples/xid"
    found = xid.read(folder / "gpud_dmesg_xid119.log").faults
    assert [event.code for event in found] == [119] * 5 and {event.pci for event in found} == {"0000:9b:00"}
    assert found[0].time_s == 1740327858.0 and found[0].process == "nvidia-smi (2024380)"
    (switch,) = xid.read(folder / "gpud_fabricmanager.log").faults
    assert switch.code == 12028 and switch.kind == "nvswitch-non-fatal"
    quiet = xid.read(folder / "kmsg.1.log")
    assert quiet.faults == () and quiet.input.status == "read"


# --- nccl-tests ---------------------------------------------------------------------------------------------------------

HEAD = """# nThread 1 nGpus 1 minBytes 8 maxBytes 1024 step: 2(factor) warmup iters: 5 iters: 20
#  Rank  0 Group  0 Pid 1 on n1 device  0 [0000:02:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid 2 on n2 device  0 [0000:02:00] NVIDIA H100 80GB HBM3
"""
BOTH = "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong\n"
ONE_SIDE = "#       size         count      type   redop    root     time   algbw   busbw  #wrong\n"
WITH_MORE = "#       size         count      type   redop    root     time     min     max   algbw   busbw  #wrong  timestamp\n"
END = "# Avg bus bandwidth    : 1.0\n"


def run(header: str, *rows: str) -> str:
    return (
        f"# Collective test starting: all_reduce_perf\n{HEAD}{header}"
        + "".join(f"{row}\n" for row in rows)
        + END
    )


TABLES = {
    "both": run(BOTH, "    1048576 262144 float sum -1 100.0 10.5 10.5 0 1.0e+02 10.5 10.5 0"),
    "N/A": run(BOTH, "    1048576 262144 float sum -1 100.0 10.5 10.5 N/A 200.0 5.2 5.2 N/A"),
    "one side": run(ONE_SIDE, "    1048576 262144 float sum -1 1.0e+02 10.5 10.5 0"),
    "more columns": run(
        WITH_MORE, "    1048576 262144 float sum -1 100.0 90.0 110.0 10.5 10.5 0 2026-03-01T12:00:00"
    ),
    "messages between": run(
        BOTH,
        "n1:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] via P2P/IPC",
        "    1048576 262144 float sum -1 100.0 10.5 10.5 0 100.0 10.5 10.5 0",
    ),
}


@pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))
@pytest.mark.parametrize("tag", ["", "[1,0]<stdout>:", "0: "])
def test_tables_of_nccl_tests(file, table, tag):
    path = file("".join(f"{tag}{line}\n" for line in table.splitlines()))
    assert nccl_tests.looks_like(path.read_bytes(), path)
    batch = nccl_tests.read(path)
    assert batch.input.status == "read", batch.input.problems
    (point,) = batch.benchmarks[0].points
    assert (point.bytes, point.seconds, point.bus) == (1048576, pytest.approx(1e-4), pytest.approx(10.5e9))


def test_several_runs_in_one_file_and_damaged_rows(file):
    broken = run(
        BOTH,
        "    1048576 262144 float sum",
        "    2097152 524288 float sum -1 nan 1 1 0 nan 1 1 0",
        "    4194304 1048576 float sum -1 100.0 40.0 40.0 0 100 40 40 0",
    )
    batch = nccl_tests.read(file(gzip.compress((TABLES["both"] + broken).encode()), "a.gz"))
    assert [len(each.points) for each in batch.benchmarks] == [1, 1]
    assert batch.input.status == "partial" and len(batch.input.problems) == 2
    assert all(problem.line > 0 for problem in batch.input.problems)


def test_no_table_and_no_json(file):
    for content in (
        "# nThread 1 nGpus 1\nnothing\n",
        '{"devices": [], "all_reduce_perf": 1',
        '{"bus_bw": 1' + "0" * 5000 + "}",
    ):
        batch = nccl_tests.read(file(content))
        assert batch.input.status == "unreadable" and batch.input.problems and not batch.benchmarks


def test_real_nccl_tests(shared_directory):
    folder = shared_directory / "samples/nccltests"
    tagged = nccl_tests.read(folder / "nt_2.18.0_mpi_tagged_rtx5090.txt")
    assert tagged.input.status == "read" and len(tagged.benchmarks[0].points) == 8
    older = nccl_tests.read(folder / "nt_2021_v2.9_error_column_broadcast.txt")
    assert older.benchmarks[0].collective == "broadcast" and older.benchmarks[0].points[0].wrong is None


# --- sacct --------------------------------------------------------------------------------------------------------------


def test_sacct_rows_and_what_is_wrong_with_one(file):
    head = "JobID|JobName|State|ExitCode|Submit|Start|End|Elapsed|NodeList\n"
    good = "7_0|a|CANCELLED by 1000|0:0|2026-03-01T12:00:00|2026-03-01T12:10:00|2026-03-01T13:10:00|01:00:00|n[1-2]\n"
    path = file(
        head
        + good
        + "8|b|FAILED|1:0|yesterday|Unknown|Unknown|00:00:00|n1\n"
        + "8.batch|batch|NODE_FAIL|1:0||||1-00:00:00|n1\n"
    )
    assert sacct.looks_like(path.read_bytes(), path)
    batch = sacct.read(path)
    assert [(row.id, row.state) for row in batch.jobs] == [("7_0", "CANCELLED"), ("8.batch", "NODE_FAIL")]
    assert batch.jobs[0].nodes == ("n1", "n2") and batch.jobs[1].elapsed_s == 86400
    assert batch.input.status == "partial" and batch.input.problems[0].line == 3
    assert sacct.read(file("")).input.status == "unreadable"


def test_real_sacct(shared_directory):
    batch = sacct.read(shared_directory / "samples/sacct/sacct_parsable2_array_steps.txt")
    assert len(batch.jobs) == 6 and batch.jobs[0].elapsed_s == 403


# --- step times ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        "iteration,step_time_s,tokens\n10,2.0,100\n11,3.0,100\n",
        "# by hand\nStep\tMilliseconds\ttokens\n10\t2000\t100\n11\t3000\t100\n",
        '\ufeff"global_step";"step time (ms)";"tokens"\n10;2000;100\n11;3000;100\n',
    ],
)
def test_tables_of_step_times(file, content):
    path = file(content, "a.csv")
    assert step_times.looks_like(
        content.encode().split(b"\n", 1)[1] if content.startswith("#") else content.encode(), path
    )
    batch = step_times.read(path)
    (log,) = batch.logs
    assert log.iteration.tolist() == [10, 11] and log.step_time_s.tolist() == [2.0, 3.0]
    assert log.tokens_per_s.tolist() == pytest.approx([50.0, 100 / 3]) and batch.input.status == "read"


def test_step_times_by_rank(file):
    batch = step_times.read(
        file("step,rank,seconds,time\n2,0,1.0,2026-03-01 12:00:00\n1,1,1.5,\n1,0,1.0,\n2,1,x,\n", "a.csv")
    )
    (log,) = batch.logs
    assert log.iteration.tolist() == [1, 2] and log.step_time_s.tolist() == [1.5, 1.0]
    assert log.rank_timers_s["step"][0].tolist() == [1.0, 1.0] and log.settings["world_size"] == 2
    np.testing.assert_array_equal(log.rank_timers_s["step"][1], [1.5, np.nan])
    assert [problem.line for problem in batch.input.problems] == [5]


@pytest.mark.parametrize(
    "content",
    ["", "a,b\n1,2\n", "iteration,loss\n1,2\n", "step,seconds\n1,nan\n-1,2\n1e400,3\n1.5,2\n2,1e400\n"],
)
def test_tables_without_a_step_time(file, content):
    batch = step_times.read(file(content, "a.csv"))
    assert batch.input.status == "unreadable" and not batch.logs


# --- what all logs share ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "wanted"),
    [("2026-03-01 12:00:00", 1772366400.0), ("2026-03-01T12:00:00.5Z", 1772366400.5), ("x [2026-03-01 12:00:00,250]", 1772366400.25),
     ("2026-03-01T12:00:00+01:00", 1772362800.0), ("2026-13-01 12:00:00", math.nan), ("2026-03-01", math.nan), ("12:00:00", math.nan)],
)  # fmt: skip
def test_stamps(line, wanted):
    assert text.stamp_s(line) == pytest.approx(wanted, nan_ok=True, abs=1e-6)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [("[rank3]: x", (3, "x")), ("[default1]:[rank9]:x", (9, "x")), ("12: x", (12, "x")), ("[1,5]<stdout>:x", (5, "x")),
     ("[2026-03-01 12:00:00] x", (None, "[2026-03-01 12:00:00] x")), ("12:30:00 x", (None, "12:30:00 x"))],
)  # fmt: skip
def test_ranks_of_launchers(line, wanted):
    assert text.rank_of(line) == wanted


@pytest.mark.parametrize("reader", [nccl_messages, nccl_tests, sacct, step_times, xid])
@pytest.mark.parametrize(
    "data",
    [b"", b"\0" * 5000, b"\xff\xfe" * 3000, b"x" * (3 << 20), b"\x1f\x8b\x08garbage", gzip.compress(b"NCCL WARN x\n" * 99)[:-9], b"|,|\n" * 99,
     b'"' * 70000, b"# nThread 1 nGpus 1\n" + b"9 9 " * 90000, b"JobID|State\n" + b"1|" * 99999, b"step,seconds\n" + b'"' * 9999],
    ids=range(11),
)  # fmt: skip
def test_nothing_raises_for_what_a_file_holds(file, reader, data):
    path = file(data)
    reader.looks_like(data[: 64 << 10], path)
    batch = reader.read(path)
    assert batch.input.status in ("read", "partial", "unreadable", "ignored")


def test_a_file_that_is_not_there_is_told(tmp_path):
    for reader in (nccl_messages, nccl_tests, sacct, step_times, xid):
        batch = reader.read(tmp_path / "absent")
        assert batch.input.status == "unreadable" and "No such file" in batch.input.problems[0].message
