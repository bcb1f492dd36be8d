"""A map that reads one file after the other, while other threads have nothing to do.

Expected: tfdata-slow-map. Fixed: `num_parallel_calls`.
"""

import argparse
import time

import numpy as np
import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true")
parser.add_argument("--steps", type=int, default=80)
arguments = parser.parse_args()


def read_from_store(key):
    """Stands for a file of its own in object storage: nothing but waiting."""
    time.sleep(0.004)
    return np.full([256], key % 7, dtype=np.float32)


def load(key):
    return tf.ensure_shape(tf.numpy_function(read_from_store, [key], tf.float32), [256])


def make_dataset():
    parallel_calls = tf.data.AUTOTUNE if arguments.fixed else None
    dataset = tf.data.Dataset.range(1_000_000).map(load, num_parallel_calls=parallel_calls)
    return dataset.shuffle(16).batch(8).prefetch(2)


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
