"""What launchers (torchrun, MPI, Slurm) tell a process about its place in a job."""

import os

_VARIABLES = {
    "rank": ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"),
    "world_size": ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"),
}


def place() -> dict[str, int]:
    """The keys ``rank`` and ``world_size``, those of them that are told."""
    found = {}
    for key, variables in _VARIABLES.items():
        value = next((os.environ[name] for name in variables if name in os.environ), "")
        if value.isascii() and value.isdigit():
            found[key] = int(value)
    return found
