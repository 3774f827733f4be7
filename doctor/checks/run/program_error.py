"""The environment is right; the program is at fault.

What it means
    torch says that the program asked something that can't be: tensors on different devices, shapes that do not fit,
    a device number that does not exist, a checkpoint that is loaded without map_location or with classes that
    weights_only refuses.

How to see it yourself
    The last lines of the traceback name the line of the program. For CUDA: CUDA_LAUNCH_BLOCKING=1 makes it the
    right line.

What to do
    Change the program. Nothing in the environment needs fixing.

References
    https://docs.pytorch.org/docs/stable/notes/serialization.html
    https://docs.pytorch.org/docs/stable/notes/cuda.html
"""

from doctor.checks import Check, Judgement
from doctor.checks._machine import apple_silicon, heard
from doctor.checks._torch import kind, quote, search
from doctor.model.facts import ErrorText, Facts
from doctor.model.finding import Finding, Remedy
from doctor.regex import Regex

CHANGE_IT = Remedy(
    action="none",
    details={"reason": "the program is to be changed, not the environment"},
    text="Change the program; the environment is right.",
)

check = Check(
    severity="warning",
    needs=("messages",),
    usual=(CHANGE_IT,),
)

# what torch says -> what that means
SAYINGS = (
    (
        Regex(
            r"Expected all tensors to be on the same device|Placeholder storage has not been allocated on MPS|"
            r"Input type \(\S+\) and weight type \(\S+\) should be the same"
        ),
        "Tensors of one operation are on different devices.",
    ),
    (
        Regex(
            r"size mismatch|shapes? cannot be multiplied|must match the (?:existing )?size|stack expects each tensor|"
            r"shape '\[[^\]\n]*\]' is invalid|Sizes of tensors must match|The size of tensor a |Given groups=\d|"
            r"Calculated padded input size|Expected input batch_size|Expected \d+-?D? ?(?:or \d+-?D? )?(?:\w+ )?input"
        ),
        "The shapes of the tensors do not fit.",
    ),
    (
        Regex(r"Weights only load failed|WeightsUnpickler error"),
        "The checkpoint holds more than weights, which torch.load refuses by default since 2.6.",
    ),
    (
        Regex(
            r"MPSGa?r?aph does not support tensor dims larger than INT_MAX|"
            r"product of dimension sizes > 2\*\*31|total bytes of NDArray > 2\*\*32"
        ),
        "A tensor is larger than MPS can address.",
    ),
    (Regex(r"device-side assert triggered"), "A kernel found an index or a value out of its range."),
    (
        Regex(r"(?i:Flash ?Attention(?:-?2)? only supports (?:Ampere|Turing) GPUs)"),
        "FlashAttention 2 has no kernels for this GPU: another attention has to be chosen (sdpa, eager, xformers).",
    ),
    (
        Regex(r"NCCL error in: ?[^\n]{0,200}?invalid usage|\bncclInvalidUsage\b|Duplicate GPU detected"),
        "Processes share a GPU that each must have for itself, or call NCCL in the wrong order.",
    ),
    (Regex(r"invalid device ordinal"), "The program names a GPU number that does not exist."),
    (
        Regex(
            r"element \d+ of tensors does not require grad|Trying to backward through the graph a second time|"
            r"one of the variables needed for gradient computation has been modified"
        ),
        "The program breaks the rules of autograd.",
    ),
    (
        Regex(r"Error\(s\) in loading state_dict|Missing key\(s\) in state_dict"),
        "The checkpoint does not belong to this model.",
    ),
    (
        Regex(r"expected scalar type \w+ but found \w+|mat1 and mat2 must have the same dtype"),
        "Tensors of one operation have different types.",
    ),
    (
        Regex(
            r"An attempt has been made to start a new process before the|Cannot re-initialize CUDA in forked subprocess"
        ),
        "The program starts its processes in a way that this system does not allow.",
    ),
    (
        Regex(r"No module named '(?:torchvision|torchaudio)\.[\w.]+'"),
        "The program imports a module that this package does not have.",
    ),
    (
        Regex(r"can't convert cuda:\d+ device type tensor to numpy|can't convert mps:\d+ device type tensor to numpy"),
        "The program hands a GPU tensor to NumPy.",
    ),
    (
        Regex(
            r"\w+\(\) (?:got an unexpected keyword argument|missing \d+ required positional|"
            r"takes \d+ positional argument)"
        ),
        "The program calls a function with arguments that it does not take.",
    ),
    (
        Regex(
            r"(?:Runtime|Value|Assertion|Index)Error: (?![^\n]*\b(?:mps|MPS|cudnn|cuDNN|cublas|CUBLAS)\b)"
            r"[^\n]{0,200}\b(?:shapes?|sizes?|dim(?:ension)?s?|dtypes?|channels|batch(?:es)?|indices|index|labels?|"
            r"classes)\b[^\n]{0,120}\b(?:mismatch|invalid|must|expected|"
            r"cannot be|(?:not|n't) match|should be|out of (?:range|bounds)|incompatible)\b"
        ),
        "What the program computes with does not fit together.",
    ),
    (
        Regex(
            r"(?:IndexError|KeyError|TypeError|ValueError|ZeroDivisionError|UnboundLocalError|NameError|"
            r"FileNotFoundError): "
        ),
        "The program ends with an error of its own.",
    ),
)
HALF = "The program computes in half precision on the CPU, which this torch can't: float32 there, or the GPU."
DESERIALIZE = Regex(r"Attempting to deserialize object on a CUDA device")


@check
def judge(facts: Facts) -> Judgement:
    if facts.live or facts.probes is not None:  # what was said there is said to torchdoctor, not to a program
        return None
    if kind(facts) in ("cpu", "mps") and (found := search(facts, DESERIALIZE)):
        return _found(facts, found[0], "The checkpoint was saved on a GPU, and is loaded without map_location.")
    if apple_silicon(facts) and (banner := heard(facts, "ultralytics-on-cpu")):
        detail = "Nobody named a device, and the program's own choice on a Mac is the CPU: device=mps takes its GPU."
        return _found(facts, banner, detail)
    if error := heard(facts, "half-not-on-cpu"):
        return _found(facts, error, HALF)
    for regex, meaning in SAYINGS:
        if found := search(facts, regex):
            return _found(facts, found[0], meaning)
    return None


def _found(facts: Facts, error: ErrorText, meaning: str) -> Finding:
    return check.found(
        facts,
        meaning,
        evidence=(quote(error),),
        remedies=(CHANGE_IT,),
        confidence="likely",
    )
