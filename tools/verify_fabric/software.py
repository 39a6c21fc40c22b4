"""The real programs: installing them from Debian where they are missing, and running them within time limits."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

PACKAGES = {
    "opensm": "opensm",
    "ibsim": "ibsim-utils",
    "ibnetdiscover": "infiniband-diags",
    "ibdmchk": "ibutils",
    "slurmctld": "slurmctld",
    "scontrol": "slurm-client",
    "munged": "munge",
}
APT_SECONDS = 600
PRELOAD = "umad2sim/libumad2sim.so"  # of ibsim-utils: stands in for the kernel's InfiniBand device
LARGEST_LID = (
    49151  # the last unicast LID (InfiniBand Architecture Specification, vol. 1): ibsim's forwarding tables
)


class Failure(Exception):
    """A check that did not hold, or a program that did not do its part."""


def search_path() -> str:
    """PATH with the folders of system programs, which a user's own may lack."""
    return os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])


def find(program: str) -> str | None:
    """The program's path, or None."""
    return shutil.which(program, path=search_path())


def install(packages: Mapping[str, str] = PACKAGES) -> list[str]:
    """Install what is missing of `packages` (program → Debian package), with apt-get; the packages installed. Failure with
    what to type where that cannot be.
    """
    missing = sorted({package for program, package in packages.items() if find(program) is None})
    if not missing:
        return []
    command = f"apt-get install --no-install-recommends {' '.join(missing)}"
    if find("apt-get") is None:
        raise Failure(
            f"missing: {', '.join(missing)}; this is no Debian or Ubuntu: install them by other means"
        )
    if os.geteuid() != 0:
        raise Failure(f"missing: {', '.join(missing)}; only root can install them: sudo {command}")
    _apt_get("update", "-qq")  # where it fails, the lists that are there may do
    if told := _apt_get("install", "-y", "-qq", "--no-install-recommends", *missing):
        raise Failure(f"apt-get install {' '.join(missing)} failed: {told}")
    still = sorted(program for program in packages if find(program) is None)
    if still:
        raise Failure(f"installed {', '.join(missing)}, but found no {', '.join(still)}")
    return missing


def _apt_get(*words: str) -> str:
    """Run apt-get without questions, waiting for others that hold its lock; the end of its complaints if it fails."""
    try:
        done = subprocess.run(
            ["apt-get", "-o", "DPkg::Lock::Timeout=120", *words],
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=APT_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return f"took more than {APT_SECONDS} s"
    return (done.stderr.strip()[-400:] or f"status {done.returncode}") if done.returncode else ""


def run(
    program: str,
    *arguments: str,
    folder: Path,
    seconds: float,
    environment: dict[str, str] | None = None,
    output: str | None = None,
) -> tuple[int, str]:
    """Run a program in `folder`: its exit status, and what it printed (also into the file `output`).

    Failure where it takes longer than `seconds`; it and its children are then ended.
    """
    target = folder / (output or f"{program}.out")
    with target.open("wb") as file:
        process = subprocess.Popen(
            [find(program) or program, *arguments],
            cwd=folder,
            env={**os.environ, "PATH": search_path(), **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status = process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            end(process)
            raise Failure(f"{program} took more than {seconds:g} s") from None
    return status, target.read_text(encoding="utf-8", errors="replace")


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process that `start_new_session` made the leader of its group, and what it started."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sign)
        except ProcessLookupError:
            break
        try:
            process.wait(timeout=5)
            break
        except subprocess.TimeoutExpired:
            continue
    process.wait()


class Background:
    """A program that runs until the block ends."""

    def __init__(self, folder: Path, words: Sequence[str], environment: dict[str, str] | None = None) -> None:
        self.log = folder / f"{Path(words[0]).name}.out"
        with self.log.open("wb") as file:
            self.process = subprocess.Popen(
                [find(words[0]) or words[0], *words[1:]],
                cwd=folder,
                env={**os.environ, "PATH": search_path(), **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def __enter__(self) -> Background:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        end(self.process)

    def wait_for(self, ready: Callable[[], bool], seconds: float) -> None:
        """Wait until `ready()` is true. Failure where the program ends first, or takes longer."""
        limit = time.monotonic() + seconds
        while not ready():
            if self.process.poll() is not None or time.monotonic() > limit:
                told = self.log.read_text(encoding="utf-8", errors="replace")[-400:]
                what = (
                    "ended at once" if self.process.poll() is not None else f"was not ready in {seconds:g} s"
                )
                raise Failure(f"{self.log.stem} {what}: {told}")
            time.sleep(0.05)


class Fabric(Background):
    """An emulated InfiniBand fabric: ibsim on a netfile, with a socket of its own; and programs run in it."""

    def __init__(self, folder: Path, netfile: Path, sizes: dict[str, int], seconds: float) -> None:
        self.folder, self.seconds = folder, seconds
        self.socket = f"argosy-{os.getpid()}-{folder.name}"
        words = [
            "ibsim", "-s", "-n", "-N", str(sizes["nodes"]), "-S", str(sizes["switches"]), "-P", str(sizes["ports"]),
            "-L", str(LARGEST_LID), str(netfile),
        ]  # fmt: skip
        super().__init__(folder, words, {"IBSIM_SOCKNAME": self.socket})
        try:
            self.wait_for(self._listens, seconds)
        except Failure:
            end(self.process)
            raise

    def _listens(self) -> bool:
        return self.socket in Path("/proc/net/unix").read_text(encoding="utf-8", errors="replace")

    def run(self, program: str, *arguments: str, output: str | None = None) -> tuple[int, str]:
        """Run a program on the emulated fabric, in its folder."""
        environment = {
            "IBSIM_SOCKNAME": self.socket,
            "LD_PRELOAD": preload(),
            "OSM_TMP_DIR": str(self.folder),
            "OSM_CACHE_DIR": str(self.folder),
        }
        return run(
            program,
            *arguments,
            folder=self.folder,
            seconds=self.seconds,
            environment=environment,
            output=output,
        )


def preload() -> str:
    """Where Debian put ibsim's library, on any architecture."""
    for folder in sorted(Path("/usr/lib").glob("*-linux-gnu*")):
        if (folder / PRELOAD).is_file():
            return str(folder / PRELOAD)
    raise Failure(f"no {PRELOAD} below /usr/lib: is ibsim-utils installed?")
