"""RegexFullMatch against ONNX Runtime, which uses RE2."""
import sys

import numpy as np
from harness import Family, by_runtime, model_of

f = Family("regex")
draw = np.random.default_rng(int(sys.argv[1]) if len(sys.argv) > 1 else 1)


def pick(items):
    return items[int(draw.integers(len(items)))]


# What an expression is made of; some of it is refused.
ATOMS = [*"abcxé€_}- 1kK", *".^$", r"\d", r"\w", r"\s", r"\W", "[a-c]", "[^a]",
         "[[:alpha:]]", "[[:^digit:]x]", r"\pL", r"\p{Greek}", r"\PN",
         r"\p{^Lu}", r"\b", r"\B", r"\A", r"\z", "(?i)", "(?i:K)", r"(?i)ß",
         r"\x41", r"\x{20ac}", r"\n", r"\101", r"[\d-z]", "[a-]", "[]a]",
         r"\Qa.b\E", r"\.", r"\_", r"\C", "(?s).", "(?m)^", "(?m)$", "[é-ü]",
         "[^é]", "(?P<n>a)", "(?<m>b)", "(?U)a", "\n", "[[:space:]]", r"\v",
         r"[\w\d]", "ſ", r"\pN", r"\07", "(?i-s)b", "(?-i)a", r"[\pL\d]",
         "(?i)[k-m]", "(?i)[^k]", r"(?i)\W", r"\/"]
WRONG = [r"\1", r"\Z", "(?=a)", "(?<=a)", "[z-a]", "[", r"\p{Foo}", "(?",
         "[[:foo:]]", r"\x{110000}", r"[\b]", "a**", "*a", "a{1001}", "a{2,1}",
         "(a", "a)", "\\", "a|*", "(*b)", r"\y", "(?z)", "[^", "[a", r"\pX"]
REPEATS = ["*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,}", "{2,}",
           "{,2}", "{0}"]
CHARACTERS = "aabbccxéßK€k1 _-.\nZλſÜ{}K\0\t"


def expression(depth=0):
    out = ""
    for _ in range(int(draw.integers(1, 5))):
        chance = draw.random()
        if depth < 3 and chance < 0.25:
            out += "(" + pick(["", "?:", "?i:"]) + expression(depth + 1) + ")"
        elif depth < 3 and chance < 0.32:
            out += expression(depth + 1) + "|" + expression(depth + 1)
        else:
            out += pick(ATOMS)
        if draw.random() < 0.3:
            out += pick(REPEATS)
    return out


def texts(n):
    return np.array(["".join(pick(CHARACTERS) for _ in range(
        int(draw.integers(0, 7)))) for _ in range(n)], object)


def known(pattern, *matching):
    """With texts that are known to match, so that not all results are false."""
    t = np.concatenate([np.array(matching, object), texts(20)])
    f.case("RegexFullMatch", [t], pattern=pattern)


for _ in range(150):
    pattern = expression()
    # What is made at random may be wrong: then both refuse it.
    try:
        by_runtime(model_of("RegexFullMatch", [texts(1)], pattern=pattern),
                   {"in0": texts(1)})
    except Exception:
        f.refused("RegexFullMatch", [texts(1)], pattern=pattern)
        continue
    f.case("RegexFullMatch", [texts(40)], pattern=pattern, dynamic=True)
for pattern in WRONG:
    f.refused("RegexFullMatch", [texts(1)], pattern=pattern)
known(r"(\w+)@(\w+)\.com", "a@b.com", "x1@y_.com")
known(r"[\p{Greek}\d]+", "λ1", "ΩΩ")
known(r"\p{Lu}\p{Ll}*", "Ärger", "K")
known(r"(?i)straße", "STRAßE", "STRAẞE", "ſtraße")
known(r"a{3,5}b?", "aaa", "aaaaab")
known(r"(?m)a$\n^b", "a\nb")
known(r"(a|b)*\bc", "ab", "c")
# States that are too many for a table: linear all the same.
known("(a|b)*a(a|b){18}", "a" * 19, "ab" * 2000 + "a" * 19)
known("(?:a?){200}a{200}", "a" * 200, "a" * 399)
known("(a*)*b", "a" * 3000 + "b", "a" * 3000)
for shape in (), (0,), (2, 3), (1, 0, 2):
    x = texts(int(np.prod(shape))).reshape(shape)
    f.case("RegexFullMatch", [x], pattern="[a-c]*", dynamic=True)
f.done()
