from dataclasses import replace

from doctor.model.facts import InstallAttempt
from tests.examples import linux, windows, with_error

SUFFIX = "ERROR: No matching distribution found for torch==1.13.0+cu116"
CU124 = "https://download.pytorch.org/whl/cu124"


def tried(*requirements, indexes=(), offered=(), failed=True, **more):
    return InstallAttempt(
        tool="pip", requirements=requirements, indexes=indexes, offered=offered, failed=failed, **more
    )


BAD = {
    "a suffix without its index": with_error(
        replace(linux(python="3.10.12"), attempts=(tried("torch==1.13.0+cu116", offered=("1.13.0", "1.13.1")),)),
        "local-version-not-found",
        SUFFIX,
        "",
        "cu116",
    ),
    "the message alone": with_error(linux(python="3.10.12"), "local-version-not-found", SUFFIX),
    "a release that the index never had": replace(
        windows(), attempts=(tried("torch==2.7.0", indexes=(CU124,), offered=("2.5.1+cu124", "2.6.0+cu124")),)
    ),
    "an address that is none": with_error(
        linux(), "pytorch-index-403", "403 Client Error: Forbidden for url: https://download.pytorch.org/whl/cu12"
    ),
    "pasted: ERROR: Could not find a version that satisfies the requireme": (
        "$ pip install torch==2.1.0+cu118\n"
        "ERROR: Could not find a version that satisfies the requirement torch==2.1.0+cu118 (from versions: 1.13.0, 1.13.1, 2.0.0, 2.0.1, 2.1.0, 2.1.1, 2.1.2, 2.2.0)\n"
        "ERROR: No matching distribution found for torch==2.1.0+cu118\n"
    ),
    "pasted: PackagesNotFoundError: The following packages are not availa": (
        "$ conda install pytorch torchvision pytorch-cuda=12.8 -c pytorch -c nvidia\n"
        "PackagesNotFoundError: The following packages are not available from current channels:\n"
        "\n"
        "  - pytorch-cuda=12.8*\n"
    ),
    "pasted: ERROR: Could not find a version that satisfies the requireme (2)": (
        "$ pip install torch==2.6.0 --index-url https://download.pytorch.org/whl/cu121\n"
        "Looking in indexes: https://download.pytorch.org/whl/cu121\n"
        "ERROR: Could not find a version that satisfies the requirement torch==2.6.0 (from versions: 2.1.0+cu121, 2.1.1+cu121, 2.1.2+cu121, 2.2.0+cu121, 2.2.1+cu121, 2.2.2+cu121, 2.3.0+cu121, 2.3.1+cu121, 2.4.0+cu121, 2.4.1+cu121, 2.5.0+cu121, 2.5.1+cu121)\n"
        "ERROR: No matching distribution found for torch==2.6.0\n"
    ),
    "pasted: requests.exceptions.HTTPError: 403 Client Error: Forbidden f": (
        "requests.exceptions.HTTPError: 403 Client Error: Forbidden for url: https://download.pytorch.org/whl/cu12/torch/\n"
    ),
    "pasted: ERROR: Could not find a version that satisfies the requireme, 2": (
        "Looking in indexes: https://download.pytorch.org/whl/cu118\n"
        "ERROR: Could not find a version that satisfies the requirement torch==2.8.0 (from versions: 2.2.0+cu118, 2.2.1+cu118, 2.2.2+cu118, 2.3.0+cu118, 2.3.1+cu118, 2.4.0+cu118, 2.4.1+cu118, 2.5.0+cu118, 2.5.1+cu118, 2.6.0+cu118, 2.7.0+cu118, 2.7.1+cu118)\n"
        "ERROR: No matching distribution found for torch==2.8.0\n"
    ),
    "pasted: ERROR: Could not find a version that satisfies the requireme (2), 2": (
        "ERROR: Could not find a version that satisfies the requirement torch==1.9.0+cu111 (from versions: 1.7.1, 1.8.0, 1.8.1, 1.9.0, 1.9.1, 1.10.0)\n"
        "ERROR: No matching distribution found for torch==1.9.0+cu111\n"
    ),
}
GOOD = {
    "pasted: the page of all builds was asked, and has none for this Python": (
        "$ pip install torch==1.3.1+cpu -f https://download.pytorch.org/whl/torch_stable.html\n"
        "ERROR: Could not find a version that satisfies the requirement torch==1.3.1+cpu (from versions: 0.1.2, 1.4.0, "
        "1.4.0+cpu, 1.4.0+cu100, 1.5.0, 1.5.0+cpu)\nERROR: No matching distribution found for torch==1.3.1+cpu\n"
    ),
    "pasted: no wheel at all fits this Python": (
        "ERROR: Could not find a version that satisfies the requirement torch==1.5.1+cpu (from versions: 0.1.2, "
        "0.1.2.post1, 0.1.2.post2)\nERROR: No matching distribution found for torch==1.5.1+cpu\n"
    ),
    "the index is named, the Python is at fault": replace(
        windows(python="3.13.1"), attempts=(tried("torch==2.5.1", indexes=(CU124,), offered=("2.6.0+cu124",)),)
    ),
    "it worked": replace(
        linux(), attempts=(tried("torch==2.6.0+cu124", indexes=(CU124,), failed=False, offered=None),)
    ),
}
