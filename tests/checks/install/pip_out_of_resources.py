from dataclasses import replace

from doctor.model.facts import InstallAttempt
from tests.examples import linux, with_error, with_torch

FULL = "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device"
attempt = InstallAttempt(tool="pip", command="pip install torch", requirements=("torch",), failed=True)

BAD = {
    "a full disk": with_error(
        with_error(linux(python="3.8.10"), "exception", FULL), "no-space-left", "[Errno 28] No space left on device"
    ),
    "killed": replace(with_error(linux(), "memory-error-or-killed", "Killed"), attempts=(attempt,)),
    "pasted: Killed": (
        "$ pip install torch\n"
        "Collecting torch\n"
        "  Downloading torch-2.3.0-cp310-cp310-manylinux1_x86_64.whl (779.1 MB)\n"
        "     ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 779.1/779.1 MB\n"
        "Killed\n"
    ),
    "pasted: MemoryError": (
        "$ pip install torch torchvision\n"
        "  Downloading torch-1.9.0-cp36-cp36m-manylinux1_x86_64.whl (831.4 MB)\n"
        "Exception:\n"
        "Traceback (most recent call last):\n"
        '  File "/usr/lib/python3/dist-packages/pip/basecommand.py", line 215, in main\n'
        "MemoryError\n"
    ),
    "pasted: ERROR: Could not install packages due to an OSError: [Errno ": (
        "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n"
        "\n"
        "[notice] A new release of pip is available\n"
    ),
    "pasted: killed at the bar": (
        "$ pip install torch\n"
        "Downloading torch-1.8.1-cp38-cp38-manylinux1_x86_64.whl (804.1 MB)\n"
        "     |████████████████████████████▎   | 717.8 MB 18.3 MB/s eta 0:00:05Killed\n"
    ),
}
GOOD = {
    "pasted: a job that is killed": "The job stops without a word:\n\nReading data: 100%\nEpoch 1, loss 0.51\nKilled\n",
    "pasted: a program's own, its command in prose": (
        "I did pip install -r requirements.txt, then python train.py\n\nTraceback (most recent call last):\n"
        '  File "train.py", line 9, in <module>\n    words = load()\nMemoryError\n'
    ),
    "pasted: a program's own": (
        "Traceback (most recent call last):\n"
        '  File "predict.py", line 270, in predict\n    found = softmax.argmax(0)\nMemoryError\n'
    ),
    "a full disk while training": with_error(
        with_torch(linux(), "2.6.0+cpu"), "no-space-left", "[Errno 28] No space left on device"
    ),
    "a full disk of which a library for signals speaks": with_error(
        with_torch(linux(), "2.6.0+cpu"), "no-space-left", "signal.wav: [Errno 28] No space left on device"
    ),
    "a program that is killed": with_error(with_torch(linux(), "2.6.0+cpu"), "memory-error-or-killed", "Killed"),
}
