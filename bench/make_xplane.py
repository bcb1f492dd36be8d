"""A real profile of at least that many megabytes: `make_xplane.py OUT.xplane.pb MEGABYTES`.

A loop over small tf.data elements under TensorFlow's own profiler; needs TensorFlow (scripts/setup
tensorflow). A short loop tells how many elements it takes.
"""

import os
import pathlib
import shutil
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf

TRIAL = 20_000
ELEMENTS_PER_STEP = 200


def profile(folder: str, elements: int) -> pathlib.Path:
    dataset = tf.data.Dataset.range(4 * elements).map(lambda x: x + 1).batch(4).prefetch(8)
    options = tf.profiler.experimental.ProfilerOptions(host_tracer_level=2, python_tracer_level=0)
    iterator = iter(dataset)
    next(iterator)
    tf.profiler.experimental.start(folder, options=options)
    left = elements - 1
    step = 0
    while left > 0:
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            for _ in range(min(left, ELEMENTS_PER_STEP)):
                next(iterator)
        left -= ELEMENTS_PER_STEP
        step += 1
    tf.profiler.experimental.stop()
    return next(pathlib.Path(folder).rglob("*.xplane.pb"))


def main() -> None:
    out, megabytes = pathlib.Path(sys.argv[1]), float(sys.argv[2])
    elements = TRIAL
    while True:
        with tempfile.TemporaryDirectory(dir=out.parent) as folder:
            path = profile(folder, elements)
            size = path.stat().st_size
            if size >= megabytes * 1e6:
                shutil.move(path, out)
                return
        elements = int(elements * megabytes * 1e6 / size * 1.05) + 1


if __name__ == "__main__":
    main()
