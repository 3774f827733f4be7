"""An encoder of the size of bert-base-uncased (Devlin and others, 2018): 12 layers, 768 wide, 128 tokens.

It also offers the attention and the layers that the decoder is made of.
"""

NAME, UNIT, PARAMETERS = "bert-base", "sequences", 109482240
PHASES, BATCH, DEPTH = ("inference", "training"), 64, 100
MULTIPLY_ADDS = 11180000000  # of a sequence
TOKENS, VOCABULARY, WIDTH, HEADS, LAYERS = 128, 30522, 768, 12, 12
COMPARED, STEPS, SEEDS = 1, 3, 3
BAND_SIDE = 16  # tokens
LEARNING_RATE = 2e-5


def attention_class(torch):
    nn = torch.nn
    fused = getattr(nn.functional, "scaled_dot_product_attention", None)

    class Attention(nn.Module):
        """Heads of 64 each. (batch, heads, tokens, 64), `mask`: whether later tokens are hidden."""

        def forward(self, query, key, value, causal=False):
            if fused:
                return fused(query, key, value, is_causal=causal)
            scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
            if causal:
                later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
                scores = scores.masked_fill(later, float("-inf"))
            return torch.softmax(scores, -1) @ value

        def flops(self, inputs, output):
            return 4.0 * output.numel() * inputs[1].shape[-2]

    return Attention


def model(torch, classes, others):
    nn = torch.nn
    attention = attention_class(torch)

    class Layer(nn.Module):
        def __init__(self):
            super(Layer, self).__init__()
            self.query, self.key, self.value, self.out = [nn.Linear(WIDTH, WIDTH) for _ in range(4)]
            self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
            self.first, self.second = nn.LayerNorm(WIDTH, eps=1e-12), nn.LayerNorm(WIDTH, eps=1e-12)
            self.attention, self.drop = attention(), nn.Dropout(0.1)

        def forward(self, x):
            batch, tokens, _ = x.shape
            parts = [f(x).view(batch, tokens, HEADS, -1).transpose(1, 2) for f in (self.query, self.key, self.value)]
            seen = self.attention(*parts).transpose(1, 2).reshape(batch, tokens, WIDTH)
            x = self.first(x + self.drop(self.out(seen)))
            return self.second(x + self.drop(self.narrow(nn.functional.gelu(self.wide(x)))))

    class Encoder(nn.Module):
        def __init__(self):
            super(Encoder, self).__init__()
            self.words, self.places, self.kinds = [nn.Embedding(n, WIDTH) for n in (VOCABULARY, 512, 2)]
            self.norm, self.drop = nn.LayerNorm(WIDTH, eps=1e-12), nn.Dropout(0.1)
            self.layers = nn.Sequential(*[Layer() for _ in range(LAYERS)])
            self.pool = nn.Linear(WIDTH, WIDTH)
            for part in self.modules():
                if isinstance(part, (nn.Linear, nn.Embedding)):
                    nn.init.normal_(part.weight, 0.0, 0.02)

        def forward(self, tokens):
            places = torch.arange(tokens.shape[1], device=tokens.device)
            x = self.words(tokens) + self.places(places) + self.kinds(torch.zeros_like(tokens))
            x = self.layers(self.drop(self.norm(x)))
            return torch.tanh(self.pool(x[:, 0]))

    return Encoder()


def draw(torch, count, generator, side):
    tokens = torch.randint(0, VOCABULARY, (count, side or TOKENS), generator=generator)
    return tokens, tokens[:, 0] % 2


def loss(torch, outputs, targets):
    return torch.nn.functional.cross_entropy(outputs[:, :2].float() * 8, targets)
