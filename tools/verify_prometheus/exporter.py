"""A small exporter of metrics as DCGM's exporter writes them, with the traps that the reader knows."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

GPUS = 4
XID_FROM = 4  # scrapes after which GPU 2's gauge holds Xid 79, for ever
TEMPERATURE = 40.0  # °C of GPU 0; each further one is a degree warmer


class Exporter:
    """Answers /metrics on a free port of this machine while the block lasts; `scrapes` counts the answers."""

    def __init__(self) -> None:
        self.scrapes = 0
        exporter = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                exporter.scrapes += 1
                body = page(exporter.scrapes).encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *arguments: object) -> None:
                """Nothing on stderr for every scrape."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Exporter:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def page(scrape: int) -> str:
    """What the exporter answers the `scrape`-th time (from 1)."""
    lines = []
    for metric, kind, words in (
        ("DCGM_FI_DEV_GPU_TEMP", "gauge", "GPU temperature (in C)."),
        ("DCGM_FI_DEV_XID_ERRORS", "gauge", "Value of the last XID error encountered."),
        ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "gauge", "Ratio of cycles the tensor pipes are active."),
        ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "counter", "Total energy consumption since boot (in mJ)."),
    ):
        lines += [f"# HELP {metric} {words}", f"# TYPE {metric} {kind}"]
        for gpu in range(GPUS):
            labels = (
                f'gpu="{gpu}",UUID="GPU-{gpu:08d}",pci_bus_id="00000000:{gpu + 1:02X}:00.0",device="nvidia{gpu}",'
                f'modelName="NVIDIA H100 80GB HBM3",Hostname="node-1"'
            )
            value = {
                "DCGM_FI_DEV_GPU_TEMP": TEMPERATURE + gpu,
                "DCGM_FI_DEV_XID_ERRORS": 79 if gpu == 2 and scrape >= XID_FROM else 0,
                "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": 0.25,
                "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": 1e6 * scrape,
            }[metric]
            if metric == "DCGM_FI_DEV_GPU_TEMP" and gpu == 3:  # two instances repeat what the whole GPU shows
                for instance in (7, 8):
                    lines.append(
                        f'{metric}{{{labels},GPU_I_PROFILE="3g.40gb",GPU_I_ID="{instance}"}} {value}'
                    )
            else:
                lines.append(f"{metric}{{{labels}}} {value}")
    lines.append('DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-00000000",Hostname="node-1"} NaN')
    return "\n".join(lines) + "\n"
