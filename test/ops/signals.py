"""DFT, STFT and windows against numpy; random numbers by their moments."""
import numpy as np
import onnx
from harness import Family, alike, model_of
import ferrule

f = Family("signals", rtol=1e-3, atol=1e-4)
n = f.normal
i64 = lambda *v: np.array(v, np.int64)


def split(z, t=np.float32):
    return np.stack([z.real, z.imag], -1).astype(t)


def joined(x):
    return x[..., 0] + 1j * x[..., 1] if x.shape[-1] == 2 else x[..., 0]


for shape in (2, 8, 1), (2, 7, 2), (1, 1, 2), (3, 12, 4, 1), (2, 400, 1):
    x = n(*shape)
    for axis in range(1, len(shape) - 1):
        size = shape[axis]
        for length in size, size + 3, max(1, size - 2):
            z = np.fft.fft(joined(x), length, axis)
            f.case("DFT", [x, np.array(length, np.int64), i64(axis)[0]],
                   opset=20, constants=[1, 2], want=[split(z)])
            half = np.take(z, range(length // 2 + 1), axis)
            if shape[-1] == 1:
                f.case("DFT", [x, np.array(length, np.int64), i64(axis)[0]],
                       opset=20, constants=[2], onesided=1,
                       want=[split(half)])
        z = np.fft.ifft(joined(x), axis=axis)
        f.case("DFT", [x], opset=17, axis=axis, inverse=1, want=[split(z)])
        f.case("DFT", [x, None, i64(axis - len(shape))[0]], opset=20,
               inverse=1, want=[split(z)])
z = np.fft.fft(joined(n(1, 3000, 2)), axis=1)
f.case("DFT", [x := split(z)], opset=17, inverse=1,
       want=[split(np.fft.ifft(joined(x), axis=1))])
x = n(2, 9, 2)
for length in 15, 16:
    f.case("DFT", [x, np.array(length, np.int64), i64(1)[0]], opset=20,
           inverse=1, onesided=1, constants=[1, 2],
           want=[np.fft.irfft(joined(x), length, 1)[..., None].astype("f")])
for length in 15, 16:
    f.case("DFT", [x, np.array(length, np.int64), i64(1)[0]], opset=20,
           inverse=1, onesided=1,
           want=[np.fft.irfft(joined(x), length, 1)[..., None].astype("f")])
for shape, axis in ((2, 4096, 1), 1), ((2, 2048, 2), 1), ((2, 16, 3, 1), 1), \
        ((3, 2, 32, 2), 1), ((1, 1000, 2), 1):
    x = n(*shape)
    size = 1 << (shape[axis] - 1).bit_length()
    z = np.fft.fft(joined(x), size, axis)
    length, at = np.array(size, np.int64), i64(axis)[0]
    f.case("DFT", [x, length, at], opset=20, constants=[1, 2],
           want=[split(z)], atol=1e-3)
    f.case("DFT", [x, length, at], opset=20, constants=[1, 2], inverse=1,
           want=[split(np.fft.ifft(joined(x), size, axis))])
    if shape[-1] == 1:
        f.case("DFT", [x, length, at], opset=20, constants=[1, 2], onesided=1,
               want=[split(np.take(z, range(size // 2 + 1), axis))], atol=1e-3)
    else:
        f.case("DFT", [x, length, at], opset=20, constants=[1, 2], onesided=1,
               inverse=1, want=[np.fft.irfft(joined(x), size, axis)[
                   ..., None].astype("f")])
x = n(2, 8, 1).astype(np.float16)
f.case("DFT", [x], opset=17, want=[split(np.fft.fft(x[..., 0]), np.float16)],
       atol=1e-2)
x = n(2, 8, 1).astype(np.float64)
f.case("DFT", [x], opset=17, want=[split(np.fft.fft(x[..., 0]), np.float64)],
       rtol=1e-10, atol=1e-10)

for parts in 1, 2:
    for frame, step, windowed in (16, 4, True), (15, 7, True), (16, 16, False):
        x, window = n(2, 64, parts), n(frame)
        count = (64 - frame) // step + 1
        frames = np.stack([joined(x)[:, k * step:k * step + frame]
                           for k in range(count)], 1)
        frames = frames * window if windowed else frames
        z = np.fft.fft(frames)
        inputs = [x, i64(step)[0], window if windowed else None,
                  None if windowed else i64(frame)[0]]
        f.case("STFT", inputs, opset=17, onesided=0, want=[split(z)],
               constants=[1])
        if parts == 1:
            f.case("STFT", inputs, opset=17, constants=[1],
                   want=[split(z[..., :frame // 2 + 1])])

for op in "HannWindow", "HammingWindow", "BlackmanWindow":
    for size in 1, 2, 9, 64:
        for periodic in 0, 1:
            if size > 1 or periodic:
                f.case(op, [i64(size)[0]], opset=17, periodic=periodic,
                       reference="onnx", constants=[0] if size > 9 else ())
f.case("MelWeightMatrix",
       [i64(8)[0], i64(16)[0], i64(8192)[0], np.float32(0), np.float32(4096)],
       opset=17, constants=[0, 1, 2, 3, 4])
f.case("MelWeightMatrix",
       [np.array(v, np.int32) for v in (20, 512, 16000)] +
       [np.array(v, np.float32) for v in (20, 8000)], opset=17)


def draw(op, inputs=(), **options):
    model = model_of(op, list(inputs), **options)
    onnx.save(model, f.path)
    feeds = {f"in{i}": a for i, a in enumerate(inputs) if a is not None}
    loaded = ferrule.load(f.path)
    first, again = loaded.run(feeds), loaded.run(feeds)
    return list(first.values()), list(again.values())


def check(what, ok):
    f.passed += ok
    if not ok:
        f.fail(what, "the numbers are not distributed as they should")


for seed in {}, {"seed": 3.0}:
    for dtype, t in (1, np.float32), (11, np.float64), (10, np.float16):
        (a,), (b,) = draw("RandomNormal", shape=[100, 300], dtype=dtype,
                          mean=2.0, scale=3.0, **seed)
        check(f"RandomNormal {seed} {dtype}",
              a.dtype == t and a.shape == (100, 300) and (a == b).all() and
              abs(a.astype("f").mean() - 2) < 0.1 and
              abs(a.astype("f").std() - 3) < 0.1)
        (a,), _ = draw("RandomUniform", shape=[30000], dtype=dtype, low=-1.0,
                       high=3.0, **seed)
        check(f"RandomUniform {seed} {dtype}",
              a.dtype == t and a.min() >= -1 and a.max() <= 3 and
              abs(a.astype("f").mean() - 1) < 0.05 and
              len(np.unique(a)) > 1000)
    (a,), _ = draw("Bernoulli", [np.full((90, 200), 0.3, np.float32)],
                   dtype=7, dynamic=True, **seed)
    check(f"Bernoulli {seed}", a.dtype == np.int64 and
          set(np.unique(a)) == {0, 1} and abs(a.mean() - 0.3) < 0.02)
    logs = np.log(np.array([[.1, .2, .7], [.5, .5, 0]], np.float32) + 1e-30)
    (a,), _ = draw("Multinomial", [logs], sample_size=5000, dtype=7, **seed)
    share = np.stack([(a == k).mean(1) for k in range(3)], 1)
    check(f"Multinomial {seed}", share.shape == logs.shape and
          np.allclose(share, np.exp(logs), atol=0.03))
    (a,), _ = draw("RandomUniformLike", [n(3, 4)], dynamic=True, **seed)
    check("RandomUniformLike", a.shape == (3, 4) and a.min() >= 0)
x = np.abs(n(60, 70)) + 1
(y, mask), _ = draw("Dropout", [x, np.array(0.25, np.float32), np.array(True)],
                    outputs=2, seed=5)
check("Dropout", abs(mask.mean() - 0.75) < 0.03 and
      alike(y, np.where(mask, x / np.float32(0.75), np.float32(0)), 1e-5, 1e-8))
f.case("Dropout", [x], outputs=2)
f.case("Dropout", [x, np.array(0.25, np.float32), np.array(False)], outputs=2)
f.case("Dropout", [x], opset=7, outputs=2, ratio=0.5,
       want=[x, np.ones_like(x)])
f.done()
