"""Makes the traces of a data-parallel job as torch.profiler would write them, one file per rank.

    python bench/make_job.py FOLDER --ranks 256 --slow-input 17 --slow-kernel 101 --skew-ms 50

What happens is simulated: each rank loads a batch, launches kernels, reduces gradients in buckets
on a stream of its own. An all_reduce begins when its rank is ready and ends on all ranks when the
last one was, give or take some microseconds; so ranks wait for each other as real ones do. Each
rank then tells the story by a clock of its own. Facts that are planted, and what they cost, are
written to FOLDER/truth.txt as JSON, which is no trace: nothing reads it but tests.
"""

from __future__ import annotations

import argparse
import gzip
import json
import pathlib
import random
from typing import Any

FORWARD, BACKWARD, BUCKETS = 8, 16, 4
BACKWARD_NODE = "autograd::engine::evaluate_function: AddmmBackward0"
KERNEL_US = 1000.0
SLOW_KERNEL = "volta_sgemm_128x64_nn"
KERNELS = (
    SLOW_KERNEL,
    "vectorized_elementwise_kernel",
    "layer_norm_kernel",
    "softmax_warp_forward",
)
TRANSFER_US = 1500.0
LAUNCH_US = 5.0


class Rank:
    """One rank: its clock, its stream's times, the events it has written."""

    def __init__(self, number: int, options: argparse.Namespace, rng: random.Random) -> None:
        self.number = number
        self.offset_us = rng.uniform(-1, 1) * options.skew_ms * 1000 if number else 0.0
        self.now = 1000.0 + rng.uniform(0, 200)
        self.stream_free = 0.0
        self.comm_free = 0.0
        self.events: list[str] = []
        self.correlation = 0
        self.ready: list[float] = []

    def event(
        self, cat: str, name: str, tid: str, start: float, dur: float, args: str = ""
    ) -> None:
        ts = start + self.offset_us + 1_700_000_000_000_000
        pid = '"pid": 0' if tid in ("7", "20") else f'"pid": {1000 + self.number}'
        self.events.append(
            f'{{"ph": "X", "cat": "{cat}", "name": "{name}", {pid}, "tid": {tid}, '
            f'"ts": {ts:.3f}, "dur": {dur:.3f}, "args": {{{args}}}}}'
        )

    def launch(
        self, op: str, kernel: str, kernel_us: float, host_us: float, after: float = 0
    ) -> float:
        """An operator and its kernel; gives the kernel's end."""
        self.correlation += 1
        link = f'"correlation": {self.correlation}, "External id": {self.correlation}'
        self.event("cpu_op", op, "1", self.now, host_us, f'"External id": {self.correlation}')
        self.event(
            "cuda_runtime", "cudaLaunchKernel", "1", self.now + host_us / 2, host_us / 4, link
        )
        start = max(self.now + host_us / 2 + LAUNCH_US, self.stream_free, after)
        args = f'{link}, "device": 0, "stream": 7, "grid": [80, 1, 1], "block": [256, 1, 1]'
        self.event("kernel", kernel, "7", start, kernel_us, args)
        self.stream_free = start + kernel_us
        self.now += host_us
        return self.stream_free


def make_job(options: argparse.Namespace) -> dict[str, Any]:
    rng = random.Random(options.seed)
    ranks = [Rank(number, options, rng) for number in range(options.ranks)]
    world = ", ".join(str(number) for number in range(options.ranks))
    short_world = f"[{world}]" if options.ranks <= 16 else f"[0, 1, ..., {options.ranks - 1}]"
    sequence = 0
    for step in range(options.first_step, options.first_step + options.steps):
        begins = {}
        for rank in ranks:
            begins[rank.number] = rank.now
            compute(rank, options, rng)
        # Buckets, one after the other on the stream of each rank.
        for bucket in range(BUCKETS):
            sequence += 1
            starts = [max(rank.ready[bucket], rank.comm_free) for rank in ranks]
            end = max(starts) + TRANSFER_US
            for rank, start in zip(ranks, starts, strict=True):
                rank.comm_free = end + abs(rng.gauss(0, options.jitter_us))
                communicate(rank, start, rank.comm_free, sequence, options, short_world)
        for rank in ranks:
            finish_step(rank, step, begins[rank.number], options)
    folder = pathlib.Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)
    for rank in ranks:
        write(rank, folder, options)
    truth = {
        "ranks": options.ranks,
        "slow_input": options.slow_input,
        "slow_kernel": options.slow_kernel,
        "throttled": options.throttled,
        "imbalance": options.imbalance,
        "missing": options.missing,
        "truncated": options.truncated,
        "offsets_ns": {rank.number: round(rank.offset_us * 1000) for rank in ranks},
    }
    (folder / "truth.txt").write_text(json.dumps(truth))
    return truth


def compute(rank: Rank, options: argparse.Namespace, rng: random.Random) -> None:
    """The batch, forward and backward of one step; sets when each bucket is ready."""
    wait_us = 2000.0 + (options.slow_input_ms * 1000 if rank.number == options.slow_input else 0)
    loader = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
    rank.event("user_annotation", loader, "1", rank.now, wait_us)
    rank.now += wait_us
    # A batch whose samples are longer takes longer, on whatever rank it falls.
    scale = 1 + (rng.uniform(-1, 1) * options.imbalance if options.imbalance else 0)
    if rank.number == options.throttled:
        scale *= 1.4
    rank.ready = []
    pieces = max(1, options.pieces)
    for i in range(FORWARD + BACKWARD):
        name = KERNELS[i % len(KERNELS)]
        slower = (
            options.slow_by if rank.number == options.slow_kernel and name == SLOW_KERNEL else 1
        )
        op = (
            "aten::linear" if i < FORWARD else "autograd::engine::evaluate_function: AddmmBackward0"
        )
        end = 0.0
        for _ in range(pieces):
            noise = 1 + rng.uniform(-0.01, 0.01)
            us = KERNEL_US * scale * slower * noise / pieces
            end = rank.launch(op, name, us, min(30.0, us / 2))
        if i >= FORWARD and (i - FORWARD) % (BACKWARD // BUCKETS) == BACKWARD // BUCKETS - 1:
            rank.ready.append(end + LAUNCH_US)


def communicate(
    rank: Rank, start: float, end: float, sequence: int, options: argparse.Namespace, ranks: str
) -> None:
    rank.correlation += 1
    link = f'"correlation": {rank.correlation}'
    rank.event("user_annotation", "nccl:all_reduce", "2", rank.now, 20)
    rank.event("cuda_runtime", "cudaLaunchKernelExC", "2", rank.now + 5, 8, link)
    rank.now += 22
    metadata = (
        f'{link}, "device": 0, "stream": 20, "Collective name": "allreduce", '
        f'"In msg nelems": 6553600, "Out msg nelems": 6553600, "Group size": {options.ranks}, '
        f'"dtype": "Float", "Process Group Name": "0", "Process Group Description": "default_pg", '
        f'"Process Group Ranks": "{ranks}"'
    )
    if options.sequence_numbers:
        metadata += f', "Seq": {sequence}'
    kernel = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long, ncclWork*)"
    rank.event("kernel", kernel, "20", start, end - start, metadata)


def finish_step(rank: Rank, step: int, begin: float, options: argparse.Namespace) -> None:
    rank.event("user_annotation", "Optimizer.step#AdamW.step", "1", rank.now, 60)
    slower = 1.4 if rank.number == options.throttled else 1.0
    for _ in range(2):
        kernel = "multi_tensor_apply_kernel_adamw"
        rank.launch("aten::_fused_adamw_", kernel, 800 * slower, 30.0, after=rank.comm_free)
    end = max(rank.now, rank.stream_free) + 10
    rank.event("cuda_runtime", "cudaStreamSynchronize", "1", rank.now, end - rank.now)
    rank.event("user_annotation", f"ProfilerStep#{step}", "1", begin, end - begin)
    rank.now = end + 5


def write(rank: Rank, folder: pathlib.Path, options: argparse.Namespace) -> None:
    if rank.number == options.missing:
        return
    info = {"backend": "nccl", "rank": rank.number, "world_size": options.ranks}
    threads = '{"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "python"}}'
    text = (
        f'{{"schemaVersion": 1, "distributedInfo": {json.dumps(info)}, '
        + f'"traceEvents": [\n{threads},\n'
        + ",\n".join(rank.events)
        + "\n]}\n"
    )
    rank.events.clear()
    data = text.encode()
    if rank.number == options.truncated:
        data = data[: len(data) * 2 // 3]
    # Any mix of formats that are found out by content.
    if options.gzip and rank.number % 2:
        data = gzip.compress(data, 1)
        (folder / f"rank{rank.number:04}.pt.trace.json.gz").write_bytes(data)
    else:
        (folder / f"rank{rank.number:04}.pt.trace.json").write_bytes(data)


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--ranks", type=int, default=256)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--first-step", type=int, default=5)
    parser.add_argument("--pieces", type=int, default=1, help="kernels per layer: larger files")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--skew-ms", type=float, default=50)
    parser.add_argument("--jitter-us", type=float, default=4)
    parser.add_argument("--slow-input", type=int, default=-1, metavar="RANK")
    parser.add_argument("--slow-input-ms", type=float, default=16)
    parser.add_argument("--slow-kernel", type=int, default=-1, metavar="RANK")
    parser.add_argument("--slow-by", type=float, default=2.5)
    parser.add_argument("--throttled", type=int, default=-1, metavar="RANK")
    parser.add_argument("--imbalance", type=float, default=0, help="of the compute time, at most")
    parser.add_argument("--missing", type=int, default=-1, metavar="RANK")
    parser.add_argument("--truncated", type=int, default=-1, metavar="RANK")
    parser.add_argument("--gzip", action="store_true", help="every second file")
    parser.add_argument("--no-sequence-numbers", dest="sequence_numbers", action="store_false")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    make_job(parse())
