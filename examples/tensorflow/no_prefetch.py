"""The pipeline works only while the training step waits for it.

TensorFlow puts a prefetch at the end by itself, unless its optimizations are off, as here.

Expected: tfdata-no-prefetch. Fixed: `prefetch`.
"""

import argparse
import time

import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true")
parser.add_argument("--steps", type=int, default=80)
arguments = parser.parse_args()


def decode(seed):
    """A millisecond of one core."""
    picture = tf.random.stateless_uniform([64, 64], [seed, 1])
    for _ in range(12):
        picture = tf.sin(picture) * tf.cos(tf.transpose(picture)) + tf.sqrt(tf.abs(picture))
    return tf.reshape(picture[:16, :16], [256])


def make_dataset():
    dataset = tf.data.Dataset.range(1_000_000).map(decode).batch(8)
    if arguments.fixed:
        dataset = dataset.prefetch(tf.data.AUTOTUNE)
    options = tf.data.Options()
    options.experimental_optimization.apply_default_optimizations = False
    return dataset.with_options(options)


weights = tf.Variable(tf.random.normal([256, 10]))


@tf.function
def train_step(rows):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.matmul(rows, weights)))
    weights.assign_sub(0.01 * tape.gradient(loss, weights))
    return loss


for batch in make_dataset().take(arguments.steps):
    loss = train_step(batch)
    time.sleep(0.02)  # stands for the work of an accelerator
print(f"loss {float(loss):.3f}")
