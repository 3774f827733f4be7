from tests.evidence.tickets import facts, patterns

COPY = """\
>>> v = torch.randn(3, device='cuda:0'); v
tensor([ 1.5336,  0.8161, -0.9325], device='cuda:0')
>>> v.to('cuda:1')
tensor([{}], device='cuda:1')
"""


def test_a_tensor_that_arrives_as_zeros_on_another_gpu() -> None:
    assert "peer-copy-differs" in patterns(COPY.format("0., 0., 0."))
    assert "peer-copy-differs" in patterns(COPY.format("nan, nan, nan"))
    assert "peer-copy-differs" not in patterns(COPY.format(" 1.5336,  0.8161, -0.9325"))
    made = "x = torch.ones(2, device='cuda:0')\ntensor([1., 1.], device='cuda:0')\ntensor([0., 0.], device='cuda:1')\n"
    assert "peer-copy-differs" not in patterns(made), "nothing was copied"


def test_torch_saw_the_gpu_until_something_was_installed() -> None:
    asked = 'python -c "import torch; print(torch.cuda.is_available())"'
    text = f"{asked}   -> True\nconda install ultralytics -c conda-forge\n{asked}   -> False\n"
    assert "gpu-lost-by-install" in patterns(text)
    seen = facts(text)
    assert seen.torch.cuda_available is False, "the last answer counts"
    assert "gpu-lost-by-install" not in patterns(text.replace("-> False", "-> True"))
    assert "gpu-lost-by-install" not in patterns(f"{asked}   -> True\nnvidia-smi\n{asked}   -> False\n")
