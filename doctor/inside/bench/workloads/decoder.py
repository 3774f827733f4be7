"""A decoder of the size of DistilGPT-2 (6 layers, 768 wide) that generates 16 tokens after 16, with a cache."""

NAME, UNIT, PARAMETERS = "decoder", "tokens", 81912576
PHASES, BATCH, DEPTH = ("generation",), 1, 50
VOCABULARY, PLACES, WIDTH, HEADS, LAYERS = 50257, 1024, 768, 12, 6
PROMPT, GENERATED = 16, 16
COMPARED = 1
PER_SAMPLE = GENERATED  # samples (tokens) of a step and a sequence
NEEDS = ("bert_base",)


def model(torch, classes, others):
    nn = torch.nn
    attention = others["bert_base"].attention_class(torch)

    class Layer(nn.Module):
        def __init__(self):
            super(Layer, self).__init__()
            self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.into, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
            self.attention = attention()

        def forward(self, x, cache):
            batch, tokens, _ = x.shape
            parts = self.into(self.first(x)).view(batch, tokens, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
            query, key, value = parts[0], parts[1], parts[2]
            if cache is not None:
                key, value = torch.cat((cache[0], key), 2), torch.cat((cache[1], value), 2)
            seen = self.attention(query, key, value, cache is None and tokens > 1)
            x = x + self.out(seen.transpose(1, 2).reshape(batch, tokens, WIDTH))
            hidden = nn.functional.gelu(self.wide(self.second(x)))
            return x + self.narrow(hidden), (key, value)

    class Decoder(nn.Module):
        def __init__(self):
            super(Decoder, self).__init__()
            self.words, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(PLACES, WIDTH)
            self.layers = nn.ModuleList([Layer() for _ in range(LAYERS)])
            self.norm = nn.LayerNorm(WIDTH)
            for part in self.modules():
                if isinstance(part, (nn.Linear, nn.Embedding)):
                    nn.init.normal_(part.weight, 0.0, 0.02)

        def some(self, tokens, caches):
            """Logits of these tokens, and the caches with them."""
            begin = caches[0][0].shape[2] if caches else 0
            x = self.words(tokens) + self.places(torch.arange(begin, begin + tokens.shape[1], device=tokens.device))
            kept = []
            for number, layer in enumerate(self.layers):
                x, cache = layer(x, caches[number] if caches else None)
                kept.append(cache)
            return nn.functional.linear(self.norm(x), self.words.weight), kept

        def forward(self, tokens):
            """Logits of all tokens at once: the reference of what the cache gives token by token."""
            return self.some(tokens, None)[0]

    return Decoder()


def draw(torch, count, generator, side):
    tokens = torch.randint(0, VOCABULARY, (count, PROMPT + GENERATED), generator=generator)
    return tokens, tokens


def step(torch, model, tokens):
    """Generate, each token the likeliest; the logits of the last one."""
    logits, caches = model.some(tokens[:, :PROMPT], None)
    for _ in range(GENERATED - 1):
        logits, caches = model.some(logits[:, -1:].argmax(-1), caches)
    return logits[:, -1]


def outputs(torch, model, tokens, whole):
    """Logits of the tokens after the prompt: from all at once (`whole`), or one by one through the cache."""
    if whole:
        return model(tokens)[:, PROMPT - 1:]
    logits, caches = model.some(tokens[:, :PROMPT], None)
    found = [logits[:, -1:]]
    for place in range(PROMPT, PROMPT + GENERATED):
        logits, caches = model.some(tokens[:, place:place + 1], caches)
        found.append(logits)
    return torch.cat(found, 1)


def flops(batch):
    """Of a step: two for each weight of a matrix and token; the products of the attention are below 1 %."""
    inner = LAYERS * 12 * WIDTH * WIDTH
    return 2.0 * batch * ((PROMPT + GENERATED - 1) * (inner + VOCABULARY * WIDTH))
