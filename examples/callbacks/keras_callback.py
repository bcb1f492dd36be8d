"""Keras: a callback that records the steps of `fit`.

python examples/callbacks/keras_callback.py
stepscope report outputs/profiler_results --view steps

`stepscope run train.py` needs no callback, and has TensorFlow's own profiler run too.
"""

import keras
import numpy

import stepscope


class StepscopeCallback(keras.callbacks.Callback):
    """Takes what `stepscope.profile` takes: `StepscopeCallback(steps="5,2,10,1", mlflow=True)`."""

    def __init__(self, path: str = "outputs/profiler_results", **options: object) -> None:
        super().__init__()
        self._profile = stepscope.profile(path, **options)

    def on_train_begin(self, logs: object = None) -> None:
        self._profile.start()

    def on_train_batch_end(self, batch: int, logs: object = None) -> None:
        stepscope.step()

    def on_epoch_end(self, epoch: int, logs: object = None) -> None:
        stepscope.epoch()

    def on_train_end(self, logs: object = None) -> None:
        self._profile.stop()  # where the training fails, the program's end does it


def main() -> None:
    random = numpy.random.default_rng(0)
    features, classes = random.normal(size=(160, 16)), random.integers(0, 4, 160)
    model = keras.Sequential(
        [keras.layers.Dense(32, activation="relu"), keras.layers.Dense(4, activation="softmax")]
    )
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
    callback = StepscopeCallback(steps="2,1,4,1")
    model.fit(features, classes, batch_size=16, epochs=1, verbose=0, callbacks=[callback])


if __name__ == "__main__":
    main()
