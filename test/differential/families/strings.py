"""Operators on strings."""
import numpy as np

from draw import T, WORDS


def words(d, shape, some=WORDS):
    return d.given(d.rng.choice(np.array(some, object), tuple(shape)), T.STRING)


def concat(d):
    a, b = d.broadcasts(2)
    return d.node([words(d, a), words(d, b)], spread="exact")


def split(d):
    some = ("a b", "a,b,,c", "", " x  y ", "one", ",", "日本 語", "a--b--c")
    return d.node([words(d, d.shape(max_rank=3, largest=40), some)], outputs=2,
                  spread="exact", delimiter=d.pick(None, "", ",", "--"),
                  maxsplit=d.pick(None, 0, 1, 2))


def match(d):
    some = WORDS + ("abc", "a1", "2024-01-31", "x@y.org", "aaa")
    pattern = d.pick("[a-z]*", "a|b|ab", r"\d{4}-\d{2}-\d{2}", ".*", "(a|b)+",
                     r"[^@]+@\w+\.org", "a?a?a?aaa", "-?[0-9]+", r"\pL+")
    return d.node([words(d, d.shape(), some)], spread="exact", pattern=pattern)


def normalizer(d):
    count = d.integer(1, 8)
    shape = d.pick([count], [1, count])
    case = d.pick(None, "LOWER", "UPPER", "NONE")
    stop = d.pick(None, ["a", "zebra"], ["AB", "two words"])
    # ONNX Runtime asks the system for the default, en_US, which it may lack; it
    # cannot change letters beyond ASCII in this one.
    some = [w for w in WORDS if w.isascii()]
    return d.node([words(d, shape, some)], spread="exact", locale="C",
                  case_change_action=case,
                  is_case_sensitive=d.pick(None, 0, 1) if stop else None,
                  stopwords=stop)


def tfidf(d):
    """Grams of one and two numbers."""
    text = d.chance(.4)
    vocabulary = ("a", "b", "c", "zebra") if text else (1, 2, 3, 5, 8)
    ones = [w for w in vocabulary if d.chance(.7)] or [vocabulary[0]]
    pairs = {(d.pick(*vocabulary), d.pick(*vocabulary))
             for _ in range(d.integer(0, 5))}
    pool = list(ones) + [w for p in sorted(pairs) for w in p]
    count = len(ones) + len(pairs)
    size = d.integer(1, 8)
    shape = d.pick([size], [d.integer(1, 3), size])
    given = {"pool_strings" if text else "pool_int64s": pool}
    if d.chance(.4):
        given["weights"] = [d.number(.1, 2) for _ in range(count)]
    longest = 2 if pairs and d.chance(.8) else 1
    x = words(d, shape, vocabulary) if text else d.given(
        d.rng.choice(np.array(vocabulary), tuple(shape)),
        d.type("T", (T.INT32, T.INT64)))
    return d.node([x], mode=d.pick("TF", "IDF", "TFIDF"),
                  min_gram_length=d.integer(1, longest),
                  max_gram_length=longest, max_skip_count=d.integer(0, 2),
                  ngram_counts=[0, len(ones)] if pairs else [0],
                  ngram_indexes=[int(v) for v in d.rng.permutation(count)],
                  **given)


OPS = {"StringConcat": concat, "StringSplit": split, "RegexFullMatch": match,
       "StringNormalizer": normalizer, "TfIdfVectorizer": tfidf}
