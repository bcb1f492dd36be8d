"""Files on storage that answers slowly, read one after the other.

Expected: tfdata-slow-source. Fixed: a parallel interleave of the files.
"""

import argparse
import time

import numpy as np
import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true")
parser.add_argument("--steps", type=int, default=80)
arguments = parser.parse_args()


def read_from_store(file):
    """Stands for reads of a file in object storage: nothing but waiting."""
    for row in range(10_000):
        time.sleep(0.004)
        yield np.full([256], (file + row) % 7, dtype=np.float32)


def open_file(file):
    return tf.data.Dataset.from_generator(
        read_from_store, args=[file], output_signature=tf.TensorSpec([256], tf.float32)
    )


def make_dataset():
    files = tf.data.Dataset.range(8)
    if arguments.fixed:
        rows = files.interleave(
            open_file, cycle_length=8, num_parallel_calls=tf.data.AUTOTUNE, deterministic=False
        )
    else:
        rows = files.flat_map(open_file)
    return rows.batch(8).prefetch(2)


weights = tf.Variable(tf.random.normal([256, 10]))


@tf.function
def train_step(rows):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.matmul(rows, weights)))
    weights.assign_sub(0.0001 * tape.gradient(loss, weights))
    return loss


for batch in make_dataset().take(arguments.steps):
    loss = train_step(batch)
    time.sleep(0.02)  # stands for the work of an accelerator
print(f"loss {float(loss):.3f}")
