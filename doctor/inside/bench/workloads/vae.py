"""The variational autoencoder of PyTorch's own examples: 784-400-20, Adam."""

NAME, UNIT, PARAMETERS = "vae", "images", 652824
PHASES, BATCH, DEPTH = ("training",), 128, 10
SHAPE = (784,)
STEPS = 310  # a generator that gives a NaN in one of 300 draws must show


def model(torch, classes, others):
    nn = torch.nn

    class VAE(nn.Module):
        def __init__(self):
            super(VAE, self).__init__()
            self.into = nn.Linear(784, 400)
            self.mean = nn.Linear(400, 20)
            self.log_variance = nn.Linear(400, 20)
            self.out_of = nn.Linear(20, 400)
            self.last = nn.Linear(400, 784)
            self.noise = None  # given where two devices are to compute the same

        def forward(self, x):
            hidden = torch.relu(self.into(x))
            mean, log_variance = self.mean(hidden), self.log_variance(hidden)
            noise = torch.randn_like(mean) if self.noise is None else self.noise[: len(x)].to(mean)
            latent = mean + noise * torch.exp(0.5 * log_variance)
            return self.last(torch.relu(self.out_of(latent))), mean, log_variance

    return VAE()


def draw(torch, count, generator, side):
    patterns = (torch.randn(8, 784, generator=torch.Generator().manual_seed(1)) > 0.5).float()
    chosen = patterns[torch.randint(0, 8, (count,), generator=generator)]
    flipped = (torch.rand(count, 784, generator=generator) < 0.05).float()
    images = (chosen - flipped).abs()
    return images, images


def loss(torch, outputs, targets):
    image, mean, log_variance = outputs
    error = torch.nn.functional.binary_cross_entropy_with_logits(image, targets, reduction="sum")
    return error - 0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())


def prepared(model, torch, seed):
    """With noise that is the same on every device."""
    model.noise = torch.randn(4096, 20, generator=torch.Generator().manual_seed(seed))


def released(model):
    model.noise = None
