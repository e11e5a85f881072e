#!/usr/bin/env python3
# Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the coefficients of runtime/math.c.

Method: Remez exchange for a linear basis with a weight (Cheney, Introduction
to Approximation Theory, ch. 3; Muller, Elementary Functions, ch. 3). The
coefficients are rounded to the target format one after the other, low order
first, and the rest is fitted again after each rounding, so that the later ones
make up for the rounding of the earlier ones. Needs mpmath.
"""
import struct
import mpmath as mp

mp.mp.prec = 160


def remez(f, basis, weight, lo, hi, grid=1200, rounds=30):
    n = len(basis)
    xs = [(lo + hi) / 2 - (hi - lo) / 2 * mp.cos(mp.pi * (i + mp.mpf(1) / 2)
          / grid) for i in range(grid)]
    fx = [f(x) for x in xs]
    wx = [weight(x) for x in xs]
    bx = [[b(x) for b in basis] for x in xs]
    ref = [round(i * (grid - 1) / n) for i in range(n + 1)]
    coef, level = None, None
    for _ in range(rounds):
        a = mp.matrix(n + 1, n + 1)
        b = mp.matrix(n + 1, 1)
        for i, k in enumerate(ref):
            for j in range(n):
                a[i, j] = bx[k][j]
            a[i, n] = (-1) ** i / wx[k]
            b[i] = fx[k]
        sol = mp.lu_solve(a, b)
        coef = [sol[j] for j in range(n)]
        err = [wx[k] * (fx[k] - mp.fdot(coef, bx[k])) for k in range(grid)]
        level = max(abs(e) for e in err)
        # One extremum per run of equal signs; drop the smaller end if too many.
        runs = []
        for k, e in enumerate(err):
            s = e > 0
            if runs and runs[-1][0] == s:
                if abs(e) > abs(err[runs[-1][1]]):
                    runs[-1][1] = k
            else:
                runs.append([s, k])
        new = [k for _, k in runs]
        while len(new) > n + 1:
            new.pop(0 if abs(err[new[0]]) < abs(err[new[-1]]) else -1)
        if len(new) < n + 1 or new == ref:
            break
        ref = new
    return coef, level


def to_float(x, fmt):
    return mp.mpf(struct.unpack(fmt, struct.pack(fmt, float(x)))[0])


def fit(name, f, basis, weight, lo, hi, fmt='f'):
    """basis: functions, low order first."""
    lo, hi = mp.mpf(lo), mp.mpf(hi)
    points = [lo + (hi - lo) * i / 499 for i in range(500)]
    done, rest, g, coef = [], list(basis), f, None

    def worst_of(g, coef, rest):
        return max(abs(weight(x) * (g(x) - mp.fsum(c * b(x) for c, b in
                   zip(coef, rest)))) for x in points)

    while rest:
        again, _ = remez(g, rest, weight, lo, hi)
        # The exchange can fail on what rounding leaves over: keep the better.
        if coef is None or worst_of(g, again, rest) < worst_of(g, coef, rest):
            coef = again
        c = to_float(coef[0], fmt)
        done.append(c)
        g = (lambda g, b, c: lambda x: g(x) - c * b(x))(g, rest[0], c)
        rest, coef = rest[1:], coef[1:]
    worst = max(abs(weight(x) * g(x)) for x in
                [lo + (hi - lo) * i / 997 for i in range(998)])
    print(f'// {name}: error {mp.nstr(mp.log(worst, 2), 4)} bits')
    for c in done:
        digits = 9 if fmt == 'f' else 17
        print('   ', f'{float(c):.{digits}g}' + ('f' if fmt == 'f' else ''))


def powers(first, n, step=1):
    return [(lambda k: lambda x: x ** k)(first + step * i) for i in range(n)]


def rel(f):
    return lambda x: 1 / f(x)


half_ln2 = mp.log(2) / 2 * mp.mpf('1.001')
fit('exp: 1 + r + r^2 P(r)', lambda x: mp.exp(x) - 1 - x, powers(2, 5),
    rel(mp.exp), -half_ln2, half_ln2)
fit('expm1: r + r^2 P(r)', lambda x: mp.expm1(x) - x, powers(2, 6),
    lambda x: abs(1 / (mp.expm1(x) if x else mp.mpf(1e-20))), -half_ln2, half_ln2)
fit('log: f - f^2/2 + f^3 P(f)', lambda x: mp.log1p(x) - x + x * x / 2,
    powers(3, 9), lambda x: abs(1 / (mp.log1p(x) if x else mp.mpf(1e-20))),
    mp.sqrt(0.5) - 1, mp.sqrt(2) - 1)
fit('erf, |x| < 0.92: x + x P(x^2)', lambda x: mp.erf(x) - x,
    powers(1, 7, 2), rel(mp.erf), 1e-4, 0.93)
fit('-log(erfc(t)) - t = t P(t), 0.92 < t < 4', lambda t: -mp.log(mp.erfc(t)) - t,
    powers(1, 7), lambda t: mp.erfc(t) / mp.erf(t), 0.92, 4.0)
fit('sin(r pi/2) = r P(r^2)', lambda x: mp.sin(x * mp.pi / 2),
    powers(1, 5, 2), rel(lambda x: mp.sin(x * mp.pi / 2)), 1e-4, 0.5005, 'd')
fit('cos(r pi/2) = 1 + r^2 P(r^2)', lambda x: mp.cos(x * mp.pi / 2) - 1,
    powers(2, 4, 2), rel(lambda x: mp.cos(x * mp.pi / 2)), 1e-4, 0.5005, 'd')
fit('log2((1 + s)/(1 - s)) = s P(s^2)',
    lambda s: mp.log((1 + s) / (1 - s), 2), powers(1, 6, 2),
    rel(lambda s: mp.log((1 + s) / (1 - s), 2)), 1e-4, 0.1717, 'd')
fit('2^r = 1 + r P(r)', lambda r: mp.mpf(2) ** r - 1, powers(1, 7),
    rel(lambda r: mp.mpf(2) ** r), -0.5005, 0.5005, 'd')

print('// 2^e * 2/pi mod 4 as 29 bits + the rest, e = 0..104')
mp.mp.prec = 400
for e in range(105):
    t = mp.fmod(mp.mpf(2) ** e * 2 / mp.pi, 4)
    hi = mp.floor(t * mp.mpf(2) ** 27) / mp.mpf(2) ** 27
    print(f'    {{{float(hi)!r}, {float(t - hi)!r}}},')
