"""A map that is applied to one picture after the other, while another core is idle.

Expected: the map is the bottleneck. Fixed: `num_parallel_calls`.
"""

import argparse

import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true")
parser.add_argument("--steps", type=int, default=60)
arguments = parser.parse_args()


def augment(seed):
    """Stands for decoding and augmenting a picture: a few milliseconds of one core."""
    picture = tf.random.stateless_uniform([96, 96], [seed, 1])
    for _ in range(24):
        picture = tf.sin(picture) * tf.cos(tf.transpose(picture)) + tf.sqrt(tf.abs(picture))
    return tf.reshape(picture[:16, :16], [256])


def make_dataset():
    dataset = tf.data.Dataset.range(1_000_000)
    parallel_calls = tf.data.AUTOTUNE if arguments.fixed else None
    return dataset.map(augment, num_parallel_calls=parallel_calls).batch(8).prefetch(2)


weights = tf.Variable(tf.random.normal([256, 10]))


@tf.function
def train_step(rows):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.matmul(rows, weights)))
    weights.assign_sub(0.01 * tape.gradient(loss, weights))
    return loss


for batch in make_dataset().take(arguments.steps):
    loss = train_step(batch)
print(f"loss {float(loss):.3f}")
