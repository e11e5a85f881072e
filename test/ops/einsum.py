"""Einsum and the losses against ONNX Runtime or the reference."""
import numpy as np
from harness import Family

f = Family("einsum")
n = f.normal
SIZES = dict(zip("abcdefijkl", (2, 3, 4, 5, 2, 3, 4, 5, 6, 7)))
shape = lambda term: [SIZES[c] for c in term]
EQUATIONS = [
    "ij->ji", "ij->", "ii->i", "ii->", "bii->bi", "bij->b", "i->i", "ijk->ki",
    "ij,jk->ik", "ij,kj->ik", "ji,jk->ik", "bij,bjk->bik", "bij,jk->bik",
    "bij,bkj->bik", "abij,abjk->abik", "ijk,jkl->il", "bhid,bhjd->bhij",
    "bhij,bhjd->bhid", "bihd,bjhd->bhij", "bhij,bjhd->bihd", "i,j->ij",
    "ij,ij->ij", "ij,ij->", "ij,j->i", "i,i->", "ij,kl->ijkl", "ia,ib->iab",
    "ab,bc,cd->ad", "ab,bc,ac->", "a,b,c->cba", "aij,ij->a", "abc,d->abcd",
    "ij,jk", "ba", "i , i k -> k", "aac,cb->ab",
]
SIZES.update(h=3)
for k, equation in enumerate(EQUATIONS):
    left = equation.replace(" ", "").split("->")[0]
    inputs = [n(*shape(t)) for t in left.split(",")]
    f.case("Einsum", inputs, equation=equation, dynamic=k % 3 == 1)
for equation, shapes in (
        ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 6)]),
        ("...->...", [(2, 3)]), ("...i->...", [(2, 3, 4)]),
        ("i...,i...->...", [(3, 2, 4), (3, 4)]), ("b...,b...", [(3, 2), (3, 2)]),
        ("ij,jk->ik", [(3, 1), (5, 6)]), ("ij,ij->ij", [(3, 1), (3, 5)]),
        ("ij,jk->ik", [(0, 4), (4, 5)]), ("ij,jk->ik", [(3, 0), (0, 5)])):
    f.case("Einsum", [n(*s) for s in shapes], equation=equation,
           reference="onnx")
# Which dims of the ellipsis are 1, only the run knows.
for equation, sets in (
        ("...ij,...jk->...ik", [[(2, 1, 3, 4), (5, 4, 6)],
                                [(2, 5, 3, 4), (1, 4, 6)],
                                [(1, 1, 2, 2), (3, 2, 1)]]),
        ("...lmm,...i", [[(1, 1, 2, 4, 4), (1, 8, 3)],
                         [(2, 3, 1, 2, 2), (2, 1, 5)]]),
        ("a...,b...->ab...", [[(2, 3), (4, 1)], [(2, 1), (1, 7)],
                              [(3, 5), (2, 5)]]),
        ("...a,...a,...->...", [[(4, 3), (1, 3), (1,)], [(1, 2), (6, 2), (6,)],
                                [(1, 2), (1, 2), (5,)]])):
    f.sizes("Einsum", [[n(*s) for s in shapes] for shapes in sets],
            equation=equation, want=lambda *x, e=equation: [np.einsum(e, *x)])
# Sizes of 1 that are repeated, as only the run knows.
for equation, sets in {
        "ij,jk->ik": [((3, 4), (4, 5)), ((3, 1), (4, 5)), ((3, 4), (1, 5)),
                      ((1, 1), (1, 1)), ((2, 1), (0, 3))],
        "bij,bjk->bik": [((2, 3, 4), (2, 4, 5)), ((1, 3, 4), (2, 4, 5)),
                         ((2, 3, 1), (1, 4, 5))],
        "bhqd,bhkd->bhqk": [((2, 3, 4, 5), (2, 3, 6, 5)),
                            ((2, 3, 4, 5), (2, 1, 6, 5)),
                            ((1, 3, 4, 5), (2, 3, 6, 1))],
        "i,i->": [((4,), (4,)), ((1,), (4,)), ((4,), (1,))],
        "ii,i->i": [((3, 3), (3,)), ((1, 1), (3,)), ((3, 3), (1,))],
        "ij,ij,ij->j": [((2, 3), (2, 3), (2, 3)), ((1, 3), (2, 1), (2, 3)),
                        ((2, 1), (1, 1), (1, 3))],
        "...i,i...->...": [((2, 3), (3, 2)), ((2, 1), (3, 1)),
                           ((1, 3), (1, 2))]}.items():
    f.sizes("Einsum", [[n(*s) for s in shapes] for shapes in sets],
            equation=equation,
            want=lambda *x, e=equation: [np.einsum(e, *x)])
f.refused("Einsum", [n(3, 2)], equation="ii->i", dynamic=True, run_time=True)
f.refused("Einsum", [n(2, 4), n(3, 4)], equation="...i,...i", dynamic=True,
          run_time=True)
for t in np.float64, np.int32, np.float16:
    f.case("Einsum", [f.integers(-4, 5, 3, 4).astype(t),
                      f.integers(-4, 5, 4, 5).astype(t)],
           equation="ij,jk->ik", reference="onnx")
f.case("Einsum", [n(3, 4), n(4, 5)], equation="ij,jk->ik", constants=[1])
for equation in "ij,jk->iz", "ij->i", "i j,jk,kl->il", "ij,jk->ii":
    f.refused("Einsum", [n(3, 4), n(4, 5)], equation=equation)
f.refused("Einsum", [n(3, 4), n(5, 5)], equation="ij,jk->ik")
f.refused("Einsum", [n(3, 4), n(5, 5)], equation="ij,jk->ik", dynamic=True,
          run_time=True)

C = 5
for more in (), (2,), (2, 3):
    for reduction in "none", "mean", "sum":
        x, w = n(4, C, *more), np.abs(n(C))
        target = f.integers(0, C, 4, *more)
        options = dict(reduction=reduction, dynamic=reduction == "mean",
                       reference="onnx")
        f.case("NegativeLogLikelihoodLoss", [x, target], **options)
        f.case("SoftmaxCrossEntropyLoss", [x, target.astype(np.int32), w],
               outputs=2, ignore_index=2, **options)
f.refused("NegativeLogLikelihoodLoss", [n(4, 5), f.integers(0, 5, 3)])
f.done()
