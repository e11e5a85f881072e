"""TfIdfVectorizer against ONNX Runtime."""
import numpy as np
from harness import Family

f = Family("tf_idf")

# N-grams of integers: random pools with n-grams that begin others, columns in
# any order, rows that are shorter than the distance.
for trial in range(60):
    longest = 1 + trial % 4
    vocabulary = 2 + trial % 5
    grams = [sorted({tuple(f.integers(0, vocabulary, size).tolist())
                     for _ in range(int(f.random.integers(1, 8)))})
             for size in range(1, longest + 1)]
    pool, counts = [], []
    for some in grams:
        counts.append(len(pool))
        for i in f.random.permutation(len(some)):
            pool += some[i]
    n = sum(map(len, grams))
    columns = f.random.permutation(n) if trial % 7 else f.integers(0, 3, n)
    shortest = 1 + trial % longest
    options = dict(
        mode=("TF", "IDF", "TFIDF")[trial % 3], pool_int64s=pool,
        ngram_counts=counts, ngram_indexes=columns.tolist(),
        min_gram_length=shortest, max_skip_count=trial % 3,
        max_gram_length=min(longest, shortest + trial % 2),
        weights=None if trial % 2 else f.normal(n).tolist())
    shape = [(9,), (3, 7), (1, 1), (4, 12)][trial // 3 % 4]
    dtype = (np.int64, np.int32)[trial // 2 % 2]
    f.case("TfIdfVectorizer", [f.integers(0, vocabulary + 1, *shape,
                                          dtype=dtype)],
           dynamic=trial % 5 > 1, **options)
gram = dict(mode="TF", pool_int64s=[1, 2, 3], ngram_counts=[0, 1],
            ngram_indexes=[0, 1], min_gram_length=1, max_gram_length=2,
            max_skip_count=0)
f.case("TfIdfVectorizer", [f.integers(0, 4, 0)], **gram)
tokens = np.array(list("abcdé"), object)
for trial in range(20):
    grams = [sorted({tuple(f.integers(0, 4, size).tolist())
                     for _ in range(int(f.random.integers(1, 6)))})
             for size in (1, 2, 3)]
    pool = [t for some in grams for g in some for t in g]
    n = sum(map(len, grams))
    f.case("TfIdfVectorizer", [tokens[f.integers(0, 5, *((9,), (3, 7))[trial % 2])]],
           dynamic=trial % 3 > 0, mode=("TF", "IDF", "TFIDF")[trial % 3],
           pool_strings=tokens[pool].tolist(), max_skip_count=trial % 2,
           ngram_counts=[0, len(grams[0]), len(grams[0]) + 2 * len(grams[1])],
           ngram_indexes=f.random.permutation(n).tolist(), min_gram_length=1,
           max_gram_length=3, weights=f.normal(n).tolist())
for wrong in ({"ngram_indexes": [0]}, {"ngram_counts": [0, 2]},
              {"mode": "LOG"}, {"ngram_indexes": [0, -1]},
              {"min_gram_length": 0}, {"max_skip_count": -1},
              {"weights": [1.0]}):
    f.refused("TfIdfVectorizer", [f.integers(0, 4, 5)], **{**gram, **wrong})
f.done()
