"""Lightning: a callback that records the steps of a training.

python examples/callbacks/lightning_callback.py
stepscope report outputs/profiler_results --view steps
"""

import lightning
import torch
from torch import nn

import stepscope


class StepscopeCallback(lightning.Callback):
    """Takes what `stepscope.profile` takes: `StepscopeCallback(steps="5,2,10,1", mlflow=True)`."""

    def __init__(self, path: str = "outputs/profiler_results", **options: object) -> None:
        self._profile = stepscope.profile(path, **{"torch": True, **options})

    def on_train_start(self, *_: object) -> None:
        self._profile.start()

    def on_train_batch_end(self, *_: object) -> None:
        stepscope.step()

    def on_train_epoch_end(self, *_: object) -> None:
        stepscope.epoch()

    def on_train_end(self, *_: object) -> None:
        self._profile.stop()

    def on_exception(self, *_: object) -> None:
        self._profile.stop()


class Regression(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))

    def training_step(self, batch: list[torch.Tensor], _: int) -> torch.Tensor:
        features, target = batch
        return nn.functional.mse_loss(self.layers(features), target)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters())


def main() -> None:
    data = torch.utils.data.TensorDataset(torch.randn(160, 16), torch.randn(160, 1))
    trainer = lightning.Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[StepscopeCallback(steps="2,1,4,1")],
    )
    trainer.fit(Regression(), torch.utils.data.DataLoader(data, batch_size=16))


if __name__ == "__main__":
    main()
