"""usage: control_flow.py

If, Loop, Scan and functions of the model, at several input sizes each without
recompiling, against ONNX Runtime.
"""
import os
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

import ferrule

random = np.random.default_rng(1)


def f(*shape):
    return random.uniform(-2, 2, shape).astype(np.float32)


def i64(v):
    return np.array(v, np.int64)


def f32(v):
    return np.array(v, np.float32)


def flag(v):
    return np.array(bool(v))


HEAD = '<ir_version: 8, opset_import: ["" : 18, "local" : 1]>\n'

# name: model, list of inputs
CASES = {
    "if, sizes of the branches differ": ("""
g (bool c, float[N] x, float[M] z) => (float[K] y, float[L] t) {
  y, t = If (c) <
    then_branch = a () => (float[A] p, float[B] q) {
      p = Relu(x)
      q = Concat<axis = 0>(x, z)
    },
    else_branch = b () => (float[A] p, float[B] q) {
      p = Neg(z)
      q = Identity(x)
    }>
}""", [[flag(c), f(n), f(m)] for c in (0, 1) for n, m in ((3, 3), (5, 2))]),

    "if in an if, with a constant condition": ("""
g (bool c, bool d, float[N] x) => (float[N] y) {
  yes = Constant<value = bool {1}>()
  y = If (yes) <
    then_branch = a () => (float[N] p) {
      p = If (c) <
        then_branch = aa () => (float[N] u) { u = Abs(x) },
        else_branch = ab () => (float[N] u) {
          u = If (d) <
            then_branch = aba () => (float[N] w) { w = Neg(x) },
            else_branch = abb () => (float[N] w) { w = Mul(x, x) }>
        }>
    },
    else_branch = b () => (float[N] p) { p = Exp(x) }>
}""", [[flag(c), flag(d), f(4)] for c in (0, 1) for d in (0, 1)]),

    "if, ranks of the branches differ": ("""
g (float[N, M] x) => (float[K] y) {
  at = Constant<value_ints = [1]>()
  one = Constant<value_ints = [1]>()
  last = Constant<value_int = -1>()
  size = Shape<start = 1>(x)
  c = Equal(size, one)
  h = If (c) <
    then_branch = a () => (float[N] p) { p = Squeeze(x, at) },
    else_branch = b () => (float[N, M] p) { p = Relu(x) }>
  e = Exp(h)
  back = Constant<value_ints = [-1]>()
  y = Reshape(e, back)
}""", [[f(n, m)] for n, m in ((3, 1), (3, 2), (1, 1))]),

    "if, only one branch fits what follows": ("""
g (float[N, M] x) => (float[K, L] y) {
  at = Constant<value_ints = [1]>()
  one = Constant<value_ints = [1]>()
  size = Shape<start = 1>(x)
  c = Equal(size, one)
  h = If (c) <
    then_branch = a () => (float[N] p) { p = Squeeze(x, at) },
    else_branch = b () => (float[N, M] p) { p = Identity(x) }>
  n = Unsqueeze(h, at)
  y = Transpose<perm = [1, 0]>(n)
}""", [[f(n, 1)] for n in (1, 4)]),

    "if, only the second branch fits what follows": ("""
g (float[N, M] x) => (float[K, L] y) {
  at = Constant<value_ints = [1]>()
  one = Constant<value_ints = [1]>()
  size = Shape<start = 1>(x)
  c = Greater(size, one)
  h, k = If (c) <
    then_branch = a () => (float[N, M] p, float[N, M] q) {
      p = Abs(x)
      q = Exp(x)
    },
    else_branch = b () => (float[N] p, float[N] q) {
      p = Squeeze(x, at)
      q = Neg(p)
    }>
  n = Unsqueeze(h, at)
  t = Transpose<perm = [1, 0]>(n)
  y = Mul(t, k)
}""", [[f(n, 1)] for n in (1, 4)]),

    "if, ranks differ until after the function that it is in": ("""
g (float[N, M] x) => (float[K] y) {
  h = local.squeezed(x)
  e = Exp(h)
  back = Constant<value_ints = [-1]>()
  y = Reshape(e, back)
}
<domain: "local", opset_import: ["" : 18]>
squeezed (x) => (b) {
  at = Constant<value_ints = [1]>()
  one = Constant<value_ints = [1]>()
  size = Shape<start = 1>(x)
  c = Equal(size, one)
  h = If (c) <
    then_branch = a () => (float[N] p) { p = Squeeze(x, at) },
    else_branch = b () => (float[N, M] p) { p = Relu(x) }>
  b = Neg(h)
}""", [[f(n, m)] for n, m in ((3, 1), (3, 2), (1, 1))]),

    "loop with a count, a carried value and a stacked one": ("""
g (int64 n, float[2, N] x) => (float[2, N] y, float[T, 2, N] s) {
  y, s = Loop (n, , x) <
    body = b (int64 i, bool go, float[2, N] v)
      => (bool on, float[2, N] w, float[2, N] e) {
      on = Identity(go)
      k = Cast<to = 1>(i)
      w = Add(v, k)
      e = Mul(w, x)
    }>
}""", [[i64(n), f(2, m)] for n, m in ((0, 3), (1, 3), (4, 3), (7, 1), (64, 2), (200, 1))]),

    "loop with a fixed count": ("""
g (float[3] x) => (float[3] y, float[5, 3] s) {
  n = Constant<value_int = 5>()
  yes = Constant<value = bool {1}>()
  y, s = Loop (n, yes, x) <
    body = b (int64 i, bool go, float[3] v)
      => (bool go, float[3] w, float[3] w) {
      w = Sin(v)
    }>
}""", [[f(3)]]),

    "loop until a condition": ("""
g (float x) => (float y, int64[T] s) {
  zero = Constant<value = int64 {0}>()
  most = Constant<value_int = 9223372036854775807>()
  limit = Constant<value = float {100.0}>()
  first = Less(x, limit)
  y, k, s = Loop (most, first, x, zero) <
    body = b (int64 i, bool go, float v, int64 c)
      => (bool on, float w, int64 d, int64 e) {
      two = Constant<value = float {2.0}>()
      w = Mul(v, two)
      on = Less(w, limit)
      one = Constant<value = int64 {1}>()
      d = Add(c, one)
      e = Mul(d, d)
    }>
}""", [[f32(3)], [f32(99)], [f32(250)]]),

    "loop whose value grows": ("""
g (int64 n, float[N, 2] x) => (float[M, 2] y) {
  y = Loop (n, , x) <
    body = b (int64 i, bool go, float[A, 2] v) => (bool go, float[B, 2] w) {
      u = Relu(v)
      w = Concat<axis = 0>(u, x)
    }>
}""", [[i64(n), f(m, 2)] for n, m in ((0, 2), (3, 2), (5, 1))]),

    "loop that stacks what shrinks in the middle": ("""
g (int64 n, float[N] x) => (float[T, K] s) {
  last, s = Loop (n, , x) <
    body = b (int64 i, bool go, float[N] v)
      => (bool go, float[N] w, float[K] e) {
      zero = Constant<value_ints = [0]>()
      end = Constant<value_ints = [-1]>()
      w = Neg(v)
      e = Slice(w, zero, end)
    }>
}""", [[i64(n), f(m)] for n, m in ((3, 4), (1, 2), (6, 7), (0, 3), (17, 3), (65, 3), (256, 2), (257, 3),
                                    (4099, 2))]),

    "loop in a loop": ("""
g (int64 n, float[N] x) => (float[N] y, float[T, R, N] s) {
  y, s = Loop (n, , x) <
    body = b (int64 i, bool go, float[N] v)
      => (bool go, float[N] w, float[R, N] e) {
      three = Constant<value_int = 3>()
      w, e = Loop (three, , v) <
        body = c (int64 j, bool on, float[N] a)
          => (bool on, float[N] d, float[N] h) {
          d = Add(a, x)
          h = Sub(d, v)
        }>
    }>
}""", [[i64(n), f(m)] for n, m in ((2, 3), (4, 1), (70, 2), (300, 1))]),

    "if in a loop": ("""
g (int64 n, float[N] x) => (float[M] y) {
  y = Loop (n, , x) <
    body = b (int64 i, bool go, float[A] v) => (bool go, float[B] w) {
      one = Constant<value_int = 1>()
      c = Greater(i, one)
      w = If (c) <
        then_branch = p () => (float[B] u) { u = Concat<axis = 0>(v, x) },
        else_branch = q () => (float[B] u) { u = Neg(v) }>
    }>
}""", [[i64(n), f(m)] for n, m in ((1, 3), (4, 2))]),

    "scan": ("""
g (float[2] h, float[N, 2] x) => (float[2] y, float[N, 2] z) {
  y, z = Scan<num_scan_inputs = 1,
    body = b (float[2] s, float[2] e) => (float[2] t, float[2] o) {
      t = Add(s, e)
      o = Mul(t, e)
    }> (h, x)
}""", [[f(2), f(n, 2)] for n in (1, 4, 150)]),

    "scan backwards over other axes": ("""
g (float[2] h, float[2, N] x, float[N, 2] z)
  => (float[2] y, float[2, N] p, float[N, 2] q) {
  y, p, q = Scan<num_scan_inputs = 2, scan_input_axes = [1, 0],
    scan_input_directions = [1, 0], scan_output_axes = [-1, 0],
    scan_output_directions = [0, 1],
    body = b (float[2] s, float[2] e, float[2] k)
      => (float[2] t, float[2] o, float[2] r) {
      t = Add(s, e)
      o = Mul(t, k)
      r = Sub(k, s)
    }> (h, x, z)
}""", [[f(2), f(2, n), f(n, 2)] for n in (1, 3, 5, 129)]),

    "scan without state": ("""
g (float[N, M] x) => (float[N] z) {
  z = Scan<num_scan_inputs = 1,
    body = b (float[M] e) => (float o) {
      o = ReduceSum<keepdims = 0>(e)
    }> (x)
}""", [[f(n, m)] for n, m in ((1, 4), (4, 3))]),

    "loop whose condition is handed on": ("""
g (int64 n, bool c, float[3] x) => (float[3] y, float[T, 3] s, float[T, 3] t) {
  y, s, t = Loop (n, c, x) <
    body = b (int64 i, bool go, float[3] v)
      => (bool on, float[3] w, float[3] e, float[3] e) {
      on = Identity(go)
      w = Sin(v)
      e = Add(w, x)
    }>
}""", [[i64(n), flag(c), f(3)] for n in (0, 1, 40) for c in (0, 1)]),

    "loop that stacks what it was given, and what it never changes": ("""
g (float[N] x) => (float[N] y, float[20, N] s, float[20, N] t) {
  n = Constant<value_int = 20>()
  y, s, t = Loop (n, , x) <
    body = b (int64 i, bool go, float[N] v)
      => (bool go, float[N] w, float[N] v, float[N] e) {
      w = Sin(v)
      e = Identity(x)
    }>
}""", [[f(n)] for n in (1, 3)]),

    "loop of few elements that ends early": ("""
g (float x) => (float y, float[T] s, float[T] t) {
  most = Constant<value_int = 25>()
  limit = Constant<value = float {100.0}>()
  first = Less(x, limit)
  y, s, t = Loop (most, first, x) <
    body = b (int64 i, bool go, float v)
      => (bool on, float w, float w, float k) {
      two = Constant<value = float {2.0}>()
      k = Cast<to = 1>(i)
      w = Mul(v, two)
      on = Less(w, limit)
    }>
}""", [[f32(v)] for v in (1000, 60, 1, 1e-4, 1e-30)]),

    "scan in a loop, stacked twice": ("""
g (int64 n, float[M, 2] x) => (float[2] y, float[T, M, 2] s, float[T, 2] u) {
  h = Constant<value = float[2] {0.0, 1.0}>()
  y, s, u = Loop (n, , h) <
    body = b (int64 i, bool go, float[2] v)
      => (bool go, float[2] w, float[M, 2] z, float[2] w) {
      w, z = Scan<num_scan_inputs = 1,
        body = b (float[2] p, float[2] e) => (float[2] q, float[2] o) {
          q = Add(p, e)
          o = Sin(q)
        }> (v, x)
    }>
}""", [[i64(n), f(m, 2)] for n, m in ((0, 3), (1, 30), (20, 5))]),

    "scan backwards over other axes, many steps": ("""
g (float[2] h, float[3, N, 2] x) => (float[2] y, float[3, N, 2] z, float[2, N] w) {
  y, z, w = Scan<num_scan_inputs = 1, scan_input_axes = [1],
      scan_input_directions = [1], scan_output_axes = [1, -1],
      scan_output_directions = [1, 0],
    body = b (float[2] s, float[3, 2] e)
      => (float[2] t, float[3, 2] o, float[2] u) {
      zero = Constant<value_ints = [0]>()
      m = ReduceMax<keepdims = 0>(e, zero)
      t = Add(s, m)
      o = Mul(e, t)
      u = Neg(t)
    }> (h, x)
}""", [[f(2), f(3, n, 2)] for n in (1, 20, 70)]),

    "scan of a batch of any size": ("""
g (float[B, 2] h, float[N, B, 2] x) => (float[B, 2] y, float[N, B, 2] z) {
  y, z = Scan<num_scan_inputs = 1,
    body = b (float[B, 2] s, float[B, 2] e) => (float[B, 2] t, float[B, 2] o) {
      t = Add(s, e)
      o = Mul(t, e)
    }> (h, x)
}""", [[f(b, 2), f(n, b, 2)] for n, b in ((1, 1), (30, 3), (5, 4))]),

    "scan backwards of elements whose size only the body knows": ("""
g (int64[1] m, float[N, 4] x) => (float[K, N] z) {
  zero = Constant<value_ints = [0]>()
  z = Scan<num_scan_inputs = 1, scan_output_axes = [-1],
      scan_output_directions = [1],
    body = b (float[4] e) => (float[K] o) {
      o = Slice(e, zero, m)
    }> (x)
}""", [[i64([m]), f(n, 4)] for n, m in ((1, 3), (20, 2), (300, 4), (3, 1))]),

    "loop in a loop that ends early, with any number of elements": ("""
g (int64 n, float x) => (float y, float[T, 700] s) {
  most = Constant<value_int = 9223372036854775807>()
  yes = Constant<value = bool {1}>()
  size = Constant<value_ints = [700]>()
  y, s = Loop (most, yes, x) <
    body = b (int64 i, bool go, float v)
      => (bool on, float w, float[700] m) {
      one = Constant<value = int64 {1}>()
      i1 = Add(i, one)
      zero = Constant<value_ints = [0]>()
      w, r = Loop (most, yes, v) <
        body = bb (int64 j, bool go2, float p)
          => (bool on2, float q, float[1] q1) {
          k = Cast<to = 1>(j)
          q = Add(p, k)
          q1 = Unsqueeze(q, zero)
          on2 = Less(j, i1)
        }>
      e = ReduceSum<keepdims = 0>(r)
      m = Expand(e, size)
      on = Less(i, n)
    }>
}""", [[i64(n), f32(0.5)] for n in (0, 1, 30)]),

    "loop with large states: made anew, handed over, joined": ("""
g (int64 n, bool c, float[N] x, float[2048] k)
  => (float[2048] a, float[2048] b, float[2048] d, float[N] e, float[M] j) {
  l = Neg(k)
  a, b, d, e = Loop (n, c, k, l, k, x) <
    body = b (int64 i, bool go, float[2048] p, float[2048] q, float[2048] r,
              float[N] s)
      => (bool on, float[2048] p1, float[2048] q1, float[2048] r1, float[N] s1) {
      on = Identity(go)
      t = Sin(p)
      p1 = Add(t, q)
      q1 = Identity(p)
      u = Mul(r, p)
      one = Constant<value = int64 {1}>()
      odd = Mod(i, one)
      zero = Constant<value = int64 {0}>()
      is = Equal(odd, zero)
      r1 = If (is) <
        then_branch = y () => (float[2048] v) { v = Cos(u) },
        else_branch = z () => (float[2048] v) { v = Identity(q) }>
      two = Constant<value = int64 {2}>()
      s1 = Loop (two, , s) <
        body = bb (int64 i2, bool go2, float[N] f) => (bool go2, float[N] g) {
          h = Cos(f)
          g = Add(h, x)
        }>
    }>
  j = Concat<axis = 0>(a, e, b)
}""", [[i64(n), flag(c), f(m), f(2048)]
       for n, m in ((0, 3), (1, 2000), (2, 1500), (5, 2000)) for c in (0, 1)]),

    "functions": ("""
g (float[N] x) => (float[N] y, float[N] z) {
  y = local.twice<slope = 0.25>(x)
  z = local.twice(x)
}
<domain: "local", opset_import: ["" : 18, "local" : 1]>
twice <slope: float = 0.5>(a) => (b) {
  t = local.once<slope: float = @slope>(a)
  b = local.once<slope: float = @slope>(t)
}
<domain: "local", opset_import: ["" : 18]>
once <slope>(a) => (b) {
  h = LeakyRelu<alpha: float = @slope>(a)
  one = Constant<value = float {1.0}>()
  b = Sub(h, one)
}""", [[f(n)] for n in (1, 5)]),
}


def check(path, text, inputs):
    model = onnx.parser.parse_model(HEAD + text)
    with open(path, "wb") as file:
        file.write(model.SerializeToString())
    names = [i.name for i in model.graph.input]
    outputs = [o.name for o in model.graph.output]
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    reference = onnxruntime.InferenceSession(
        path, options, providers=["CPUExecutionProvider"])
    compiled = ferrule.load(path)
    for arrays in inputs:
        given = dict(zip(names, arrays))
        want = reference.run(outputs, given)
        got = compiled.run(given)
        assert list(got) == outputs, list(got)
        for name, w in zip(outputs, want):
            if not np.size(w):  # ONNX Runtime's guess of an empty shape
                assert np.size(got[name]) == 0, (name, got[name].shape)
                continue
            np.testing.assert_equal(got[name].shape, w.shape)
            np.testing.assert_equal(got[name].dtype, w.dtype)
            np.testing.assert_allclose(got[name], w, 1e-5, 1e-6)


def main():
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (text, inputs) in CASES.items():
            try:
                check(os.path.join(folder, "model.onnx"), text, inputs)
            except Exception as e:
                failed.append(f"{name}: {e}")
    for message in failed:
        print(message)
    print(f"{len(CASES) - len(failed)} of {len(CASES)} agree")
    sys.exit(bool(failed))


main()
