"""Hugging Face: a callback that records the steps of a Trainer.

python examples/callbacks/transformers_callback.py
stepscope report outputs/profiler_results --view steps
"""

import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

import stepscope


class StepscopeCallback(TrainerCallback):
    """Takes what `stepscope.profile` takes: `StepscopeCallback(steps="5,2,10,1", mlflow=True)`."""

    def __init__(self, path: str = "outputs/profiler_results", **options: object) -> None:
        self._profile = stepscope.profile(path, **{"torch": True, **options})

    def on_train_begin(self, *_: object, **__: object) -> None:
        self._profile.start()

    def on_step_end(self, *_: object, **__: object) -> None:
        stepscope.step()

    def on_epoch_end(self, *_: object, **__: object) -> None:
        stepscope.epoch()

    def on_train_end(self, *_: object, **__: object) -> None:
        self._profile.stop()  # where the training fails, the program's end does it


class RandomTexts(torch.utils.data.Dataset):
    """Two classes of noise."""

    def __len__(self) -> int:
        return 80

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        generator = torch.Generator().manual_seed(index)
        words = torch.randint(0, 100, (12,), generator=generator)
        return {"input_ids": words, "labels": torch.tensor(index % 2)}


def main() -> None:
    model = BertForSequenceClassification(
        BertConfig(
            vocab_size=100,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
        )
    )
    arguments = TrainingArguments(
        output_dir="outputs/model",
        max_steps=10,
        per_device_train_batch_size=8,
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
    )
    callback = StepscopeCallback(steps="2,1,4,1")
    Trainer(model, arguments, train_dataset=RandomTexts(), callbacks=[callback]).train()


if __name__ == "__main__":
    main()
