"""Random numbers: two draws differ, none is NaN, mean and variance are right, slices are not repeated.

The bounds are 6 standard errors: a healthy device fails one of them in hundreds of millions of probes.
"""

SIGMAS = 6.0
QUICK, FULL = 4, 300  # draws; one MPS generator gave NaN in one of hundreds
DRAW = (32, 1000)


def draws(probe):
    torch, device, wrong = probe.torch, probe.device, []
    first, second = [torch.randn(1000, device=device).cpu() for _ in range(2)]
    if torch.equal(first, second):
        wrong.append("randn: two draws are the same")
    normal(probe, FULL if probe.mode == "full" else QUICK, wrong)
    flat = torch.rand(100000, device=device).cpu().double()
    check(wrong, "rand: mean", flat.mean() - 0.5, (1 / 12.0) ** 0.5 / len(flat) ** 0.5)
    if not (bool((flat >= 0).all()) and bool((flat < 1).all())):
        wrong.append("rand: numbers outside [0, 1)")
    deep = torch.randn(2, 2, 2, 2, 500, device=device).cpu()
    if torch.equal(deep[0], deep[1]):
        wrong.append("randn: 5 dimensions repeat along the first")
    like = torch.rand_like(torch.ones(4, 3, device=device).t()).cpu()
    if not bool((like != 0).any()):
        wrong.append("rand_like of a transposed tensor is zero")
    order = torch.randperm(1000, device=device).cpu()
    if not torch.equal(order.sort()[0], torch.arange(1000)):
        wrong.append("randperm is no permutation")
    kept = torch.nn.functional.dropout(torch.ones(100000, device=device), 0.25).cpu()
    check(wrong, "dropout: share kept", (kept != 0).double().mean() - 0.75, (0.75 * 0.25 / len(kept)) ** 0.5)
    torch.manual_seed(7)
    again = [torch.randn(64, device=device).cpu()]
    torch.manual_seed(7)
    again.append(torch.randn(64, device=device).cpu())
    if not torch.equal(*again):
        wrong.append("randn: the same seed gives other numbers")
    torch.seed()
    return {"wrong": wrong}


def normal(probe, count, wrong):
    """NaN, mean and variance of that many draws, summed on the device."""
    torch, size = probe.torch, DRAW[0] * DRAW[1]
    sums = []
    for _ in range(count):
        draw = torch.randn(DRAW, device=probe.device)
        sums.append(torch.stack([draw.isnan().sum().float(), draw.sum(), (draw * draw).sum()]))
    total = torch.stack(sums).cpu().double().sum(0)
    if float(total[0]) > 0:
        wrong.append("randn: %d NaN in %d draws of %d" % (int(total[0]), count, size))
        return
    numbers = float(count * size)
    check(wrong, "randn: mean", total[1] / numbers, 1 / numbers ** 0.5)
    check(wrong, "randn: variance", total[2] / numbers - 1, (2 / numbers) ** 0.5)


def check(wrong, what, error, standard_error):
    if not abs(float(error)) <= SIGMAS * standard_error:
        errors = abs(float(error)) / standard_error
        wrong.append("%s is off by %.3g, %.0f standard errors" % (what, float(error), errors))


STAGES = (("random", draws, ("quick", "full", "fleet"), ()),)
