"""Text against ONNX Runtime."""
import numpy as np
from harness import Family

f = Family("strings")
WORDS = ["", "a", "A", "Straße", "straße", "größer", "日本", "Ж", "ж", "ǆ", "İ",
         "x" * 300, " a  b ", "\ta\u00a0b", ",", "a,b", "a,,b,", "ab", "abab",
         "monday", "Monday", "\U0001f600", "a\0b", "ŉ", "ΐ", "ᾀ"]


def words(*shape):
    n = int(np.prod(shape))
    return np.array([WORDS[int(i)] for i in f.integers(0, len(WORDS), n)],
                    object).reshape(shape)


BOTH = {"StringConcat": {}, "Equal": {}}
for op in BOTH:
    for a, b in (((7,), (7,)), ((3, 4), (4,)), ((3, 1), (1, 5)), ((), (2,)),
                 ((0, 3), (1,)), ((2, 3, 4), (2, 3, 4))):
        for dynamic in False, True:
            f.case(op, [words(*a), words(*b)], dynamic=dynamic)
    f.case(op, [words(6), words(6)], constants=[1])
    f.refused(op, [words(3), words(2)])
    f.refused(op, [words(3), words(2)], run_time=True, dynamic=True)

# Of white space ONNX Runtime knows the blank only; an empty text has no pieces.
def pieces(texts, most):
    found = [t.split(maxsplit=most) for t in texts]
    found = [[x.rstrip() for x in t] for t in found]
    longest = max([len(t) for t in found], default=0)
    return [np.array([t + [""] * (longest - len(t)) for t in found],
                     object).reshape(len(texts), longest),
            np.array([len(t) for t in found])]


for most in None, 0, 1, 2, -1:
    options = {} if most is None else {"maxsplit": most}
    for by in ",", " ", "ab", ",,", "é", "x" * 400:
        f.case("StringSplit", [words(12)], outputs=2, delimiter=by,
               dynamic=most != 1, **options)
    x = words(15)
    f.case("StringSplit", [x], outputs=2, dynamic=True,
           want=pieces(x, -1 if most is None else most), **options)
for shape in (), (0,), (2, 3), (2, 0, 1):
    x = words(*shape)
    x[...] = "a b"
    f.case("StringSplit", [x], outputs=2, dynamic=True)

# The locale must be one that the machine has.
for case in "NONE", "LOWER", "UPPER":
    for stop in None, ["monday", "ЖUK", "a"], ["", "straße"]:
        for sensitive in 0, 1:
            options = dict(case_change_action=case, stopwords=stop,
                           is_case_sensitive=sensitive, locale="C.UTF-8")
            f.case("StringNormalizer", [words(20)], dynamic=True, **options)
            f.case("StringNormalizer", [words(1, 9)], **options)
every = np.array([chr(c) for c in range(0x100, 0x3000)
                  if not 0x2e80 <= c], object)
for case in "LOWER", "UPPER":
    f.case("StringNormalizer", [every], case_change_action=case,
           locale="C.UTF-8")
monday = np.array(["monday"], object)
for x in monday, monday.reshape(1, 1):
    f.case("StringNormalizer", [x], stopwords=["monday"], locale="C.UTF-8",
           dynamic=x.ndim == 1)
f.refused("StringNormalizer", [words(2)], case_change_action="TITLE")
f.refused("StringNormalizer", [words(2, 2)], stopwords=["a"])
f.refused("StringNormalizer", [words(2, 2)], stopwords=["a"], dynamic=True,
          run_time=True)
broken = np.array([b"a\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xe2\x82"],
                  object)
for i in range(4):
    f.refused("StringNormalizer", [broken[i:i + 1]], run_time=True,
              case_change_action="LOWER")
f.case("RegexFullMatch", [broken], pattern=".*", want=[np.zeros(4, bool)])

numbers = np.array([0, -0.0, 1, 1.5, 1e10, 1e-5, 123456789, 0.1, np.inf,
                    -np.inf, np.nan, 3.4e38, 1e-45, 1 / 3, 2e16, -7.25])
np.seterr(all="ignore")
for kind in np.float32, np.float64, np.float16:
    f.case("Cast", [numbers.astype(kind)], to=8, dynamic=True)
    f.case("Cast", [f.normal(50).astype(kind)], to=8)
for kind in (np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint16,
             np.uint32, np.uint64, np.bool_):
    x = np.array([0, 1, 100, 255, 2**63, -5]).astype(np.int64).astype(kind)
    f.case("Cast", [x], to=8)
f.case("Cast", [words(5)], to=8)
f.case("Cast", [words(0, 2)], to=1)
texts = np.array(["1", "-1", "300", " 2", "2 ", "3x", "+5", "007", "\t7", "1_0",
                  "70000", "3000000000"], object)
floats = np.array(["1.5", "-2e3", "INF", "-INF", "+INF", "NaN", "nan",
                   "infinity", ".5", "5.", "0x10", "1e39", "65519", "1e-40",
                   "123456789.123456789", "1e5"], object)
for to in (1, 10, 11, 2, 3, 4, 5, 6, 7, 9, 12, 13):
    f.case("Cast", [texts], to=to, dynamic=True)
    if to in (1, 10, 11):
        f.case("Cast", [floats], to=to)
    for wrong in "", "abc", "-", "x1":
        f.refused("Cast", [np.array(["1", wrong], object)], to=to,
                  run_time=True)
for wrong in "99999999999999999999", ".5":
    f.refused("Cast", [np.array([wrong], object)], to=7, run_time=True)
f.case("CastLike", [numbers, words(2)], dynamic=True)
f.case("CastLike", [texts, np.zeros(3, np.int32)])

for sort in 0, 1:
    x = np.array([WORDS[i] for i in f.integers(0, 8, 20)], object)
    f.case("Unique", [x], outputs=4, sorted=sort, dynamic=True)
    f.case("Unique", [x.reshape(4, 5)], outputs=2, sorted=sort)
    f.case("Unique", [x[f.integers(0, 2, 6, 2)]], outputs=4, sorted=sort, axis=0,
           dynamic=True)
    f.case("Unique", [x[:3][f.integers(0, 2, 2, 8)]], outputs=4, sorted=sort,
           axis=1)
f.case("Unique", [words(0)], outputs=4, dynamic=True)

f.done()
