"""A pipeline that keeps up with its training.

Expected: nothing.
"""

import argparse

import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=100)
arguments = parser.parse_args()


def make_dataset():
    dataset = tf.data.Dataset.range(512)
    dataset = dataset.map(
        lambda seed: tf.random.stateless_normal([512], [seed, 1]),
        num_parallel_calls=tf.data.AUTOTUNE,
    )
    return dataset.cache().repeat().batch(64).prefetch(tf.data.AUTOTUNE)


layers = [tf.Variable(tf.random.normal([512, 512], stddev=0.04)) for _ in range(6)]


@tf.function
def train_step(rows):
    with tf.GradientTape() as tape:
        values = rows
        for layer in layers:
            values = tf.nn.relu(tf.matmul(values, layer))
        loss = tf.reduce_mean(tf.square(values - rows))
    for layer, gradient in zip(layers, tape.gradient(loss, layers), strict=True):
        layer.assign_sub(0.01 * gradient)
    return loss


for batch in make_dataset().take(arguments.steps):
    loss = train_step(batch)
print(f"loss {float(loss):.3f}")
