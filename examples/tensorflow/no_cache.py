"""Each epoch prepares the same few rows again.

Expected: tfdata-slow-parallel-map. Its results fit into memory. Fixed: `cache` after it.
"""

import argparse
import time

import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true")
parser.add_argument("--epochs", type=int, default=20)
arguments = parser.parse_args()


def prepare(seed):
    """Stands for what a data set is cleaned with: a few milliseconds of one core."""
    table = tf.random.stateless_uniform([96, 96], [seed, 1])
    for _ in range(24):
        table = tf.sin(table) * tf.cos(tf.transpose(table)) + tf.sqrt(tf.abs(table))
    return tf.reshape(table[:16, :16], [256])


def make_dataset():
    dataset = tf.data.Dataset.range(48).map(prepare, num_parallel_calls=tf.data.AUTOTUNE)
    if arguments.fixed:
        dataset = dataset.cache()
    return dataset.repeat(arguments.epochs).batch(8).prefetch(2)


weights = tf.Variable(tf.random.normal([256, 10]))


@tf.function
def train_step(rows):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.matmul(rows, weights)))
    weights.assign_sub(0.01 * tape.gradient(loss, weights))
    return loss


for batch in make_dataset():
    loss = train_step(batch)
    time.sleep(0.005)  # stands for the work of an accelerator
print(f"loss {float(loss):.3f}")
