"""The setting of the articles: a DataLoader in the clock, which decodes nothing here but resizes each image on the CPU.

Its time is a number of its own, never mixed with that of computing.
"""

import sys
import time

WORKERS = 2
STORED_SIDE = 32  # of the images before they are resized, as CIFAR-10 has them
MOST_STEPS = 40


def step_seconds(cell, seconds):
    """(seconds of a step with the loader in the clock, workers)."""
    torch, work = cell.torch, cell.work
    shape = tuple(work.SHAPE)
    resized = len(shape) == 3 and shape[1] > STORED_SIDE

    class Images(torch.utils.data.Dataset):
        def __len__(self):
            return MOST_STEPS * cell.batch

        def __getitem__(self, number):
            generator = torch.Generator().manual_seed(number)
            if not resized:
                return torch.rand(shape, generator=generator), number % 10
            small = torch.rand((1, shape[0], STORED_SIDE, STORED_SIDE), generator=generator)
            large = torch.nn.functional.interpolate(small, size=shape[1:], mode="bilinear", align_corners=False)
            return large[0], number % 10

    # Workers are forked: what stands on stdin can't be imported by one that is started anew.
    workers = WORKERS if sys.platform.startswith("linux") else 0
    loader = torch.utils.data.DataLoader(Images(), cell.batch, shuffle=True, num_workers=workers, drop_last=True)
    began = started = time.perf_counter()
    steps = -1  # the first one fills the queue
    for inputs, labels in loader:
        there, targets = cell.placed(inputs, inputs if not hasattr(work, "CLASSES") else labels)
        if cell.trains:
            cell.train_step(there, targets)
        else:
            with torch.no_grad():
                cell.infer_step(there)
        steps += 1
        if steps == 0:
            cell.wait()
            started = time.perf_counter()
        elif time.perf_counter() - began > seconds and steps >= 2:
            break
    cell.wait()
    return (time.perf_counter() - started) / max(steps, 1), workers
