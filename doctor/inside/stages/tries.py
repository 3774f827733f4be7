"""What the stages of features have in common: trying one thing after the other, and saying what came of each.

The data of such a stage: `tried`, what worked; `failures`, what did not ("what: class: message"); `not_here`, what
can't be tried, and why; `wrong`, results that differ. A failure is judged later: it is no crash of the device.
"""

KEPT = 700  # characters of a message: its begin and its end
STICKY = ("CUDA error", "HIP error", "CUDA driver error")  # such an error stays with the process


class NotHere(Exception):
    """This can't be tried on this machine; the text says why."""


def blank():
    return {"wrong": [], "failures": [], "not_here": [], "tried": []}


def attempt(data, what, work):
    """Run `work`, which gives the texts of what is wrong (or None), and add what came of it to the data."""
    try:
        wrong = work()
    except NotHere as why:
        data["not_here"].append("%s: %s" % (what, why))
    except Exception as error:
        if any(words in str(error) for words in STICKY):
            raise
        data["failures"].append("%s: %s" % (what, told(error)))
    else:
        data["tried"].append(what)
        data["wrong"].extend("%s: %s" % (what, text) for text in wrong or ())


def told(error):
    """The class and the message of an exception, with what caused it."""
    text = "%s: %s" % (type(error).__name__, shortened(str(error)))
    if error.__cause__ is not None:
        text += " (from %s: %s)" % (type(error.__cause__).__name__, shortened(str(error.__cause__)))
    return text


def shortened(text):
    """One line; of a long one the begin and the end, where the cause stands."""
    text = " ".join(text.split())
    return text if len(text) <= KEPT else text[:KEPT // 3] + " ... " + text[-2 * KEPT // 3:]


def installed(name):
    """Whether a package of that name could be imported; nothing of it is run."""
    import importlib.util

    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


STAGES = ()
