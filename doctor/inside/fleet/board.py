"""What ranks write for each other at their meeting point, a store of torch.distributed. Standard library only.

A store of older releases (seen with torch 1.12.1) cannot be asked whether a key is there, and a wait that runs out
leaves its connection out of step. There a counter beside each key says it, and waiting is asking again and again.
"""

import time

ASK_AGAIN_S = 0.1


class Board(object):
    def __init__(self, store, span):
        """`span`: seconds -> timedelta."""
        self.store, self.span = store, span
        self.answers = hasattr(store, "check")

    def put(self, key, text):
        self.store.set(key, text)
        if not self.answers:
            self.store.add("is/" + key, 1)

    def put_once(self, key, text):
        """Who comes first says it; what others say then is dropped."""
        if self.answers:
            self.store.compare_set(key, "", text)
        elif self.store.add("claim/" + key, 1) == 1:
            self.put(key, text)

    def has(self, key):
        return bool(self.store.check([key])) if self.answers else self.store.add("is/" + key, 0) > 0

    def wait(self, key, seconds):
        """Until it is there. Raises RuntimeError with "timed out"."""
        if self.answers:
            self.store.wait([key], self.span(seconds))
            return
        until = time.time() + seconds
        while not self.has(key):
            if time.time() > until:
                raise RuntimeError("timed out after %g s: nobody wrote %s" % (seconds, key))
            time.sleep(ASK_AGAIN_S)

    def text(self, key):
        """What is there."""
        return self.store.get(key).decode("utf-8", "replace")

    def count(self, key):
        """One more; how many came with this one."""
        return self.store.add("count/" + key, 1)
