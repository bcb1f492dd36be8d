"""Which steps and epochs of a program are recorded."""

# So many steps without us, then with us but unrecorded, then recorded; how often (0: on and on).
Steps = tuple[int, int, int, int]


def parse_steps(text: str) -> Steps | None:
    """WAIT,WARMUP,ACTIVE,REPEAT; a lone number is how many are recorded. None where empty."""
    if not text:
        return None
    try:
        numbers = [int(word) for word in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) == 1:
        numbers = [0, 0, *numbers]
    if len(numbers) == 3:
        numbers.append(1)
    if len(numbers) != 4 or min(numbers) < 0 or numbers[2] == 0:
        raise ValueError(
            f"steps {text!r}: expected WAIT,WARMUP,ACTIVE,REPEAT with ACTIVE > 0, as in 10,2,5,1"
        )
    wait, warmup, active, repeat = numbers
    return wait, warmup, active, repeat


class Schedule:
    """Counts steps and epochs; says what the one that begins is."""

    def __init__(self, steps: Steps | None, epochs: int = 0) -> None:
        self._steps = steps
        self._epochs = epochs
        self._step = 0
        self._epoch = 0
        self._settle()

    def step(self) -> None:
        self._step += 1
        self._settle()

    def epoch(self) -> None:
        self._epoch += 1
        self._settle()

    def _settle(self) -> None:
        self.is_active = self.is_warming_up = False
        self.is_over = bool(self._epochs and self._epoch >= self._epochs)  # for good
        if self.is_over:
            return
        if self._steps is None:
            self.is_active = True
            return
        wait, warmup, active, repeat = self._steps
        cycle, position = divmod(self._step, wait + warmup + active)
        if repeat and cycle >= repeat:
            self.is_over = True
            return
        self.is_active = position >= wait + warmup
        self.is_warming_up = wait <= position < wait + warmup
