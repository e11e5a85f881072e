"""ImageDecoder against Pillow, which the standard's reference uses."""
import io
import os
import sys
import warnings

import numpy as np
import onnx
from harness import Family, ferrule, model_of

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
try:
    from PIL import Image
    import image_seeds
except ImportError:
    print("images: no Pillow, skipped")
    sys.exit(77)

f = Family("images")
warnings.simplefilter("ignore")
FORMATS = "RGB", "BGR", "Grayscale"
# What Pillow refuses, as numbers in the palette, or, of two bytes per sample,
# cuts off at 255.
BY_HAND = {
    "two bytes": [[0, 254]],
    "run lengths 8": [[0] * 6, [2, 2, 0, 0, 1, 0], [1, 1, 1, 2, 1, 2]],
    "run lengths 4": [[0] * 6, [1, 2, 0, 1, 2, 0], [1, 2, 1, 2, 1, 0]],
}


def by_pillow(data, pixel_format):
    image = Image.open(io.BytesIO(data))
    if pixel_format == "Grayscale":
        return np.array(image.convert("L"))[..., None]
    out = np.array(image.convert("RGB"))
    return out[..., ::-1] if pixel_format == "BGR" else out


models = {}


def case(name, data, pixel_format, want=None):
    """One model per format for all pictures; another one of known size."""
    x = np.frombuffer(data, np.uint8)
    if want is None:
        want = by_pillow(data, pixel_format)
    if pixel_format not in models:
        onnx.save(model_of("ImageDecoder", [x]), f.path)
        try:
            ferrule.load(f.path)
        except ferrule.Error as e:
            if "without the libraries" in str(e):
                print("images: Ferrule has no libraries for them, skipped")
                sys.exit(77)
            raise
        f.case("ImageDecoder", [x], pixel_format=pixel_format, want=[want])
        onnx.save(model_of("ImageDecoder", [x], pixel_format=pixel_format,
                           dynamic=True), f.path)
        models[pixel_format] = ferrule.load(f.path)
    got, = models[pixel_format].run({"in0": x}).values()
    if got.shape != want.shape or got.dtype != np.uint8:
        f.fail(f"{name} {pixel_format}", f"{got.shape}, not {want.shape}")
    elif not np.array_equal(got, want):
        at = tuple(np.argwhere(got != want)[0])
        f.fail(f"{name} {pixel_format}", f"{at} is {got[at]}, not {want[at]}")
    else:
        f.passed += 1


for size in (17, 13), (1, 1), (8, 8), (64, 33):
    for name, data in image_seeds.seeds(f.random, *size):
        if name == "fields 32":
            # Red, green, blue, nothing, from the bottom.
            rows = np.frombuffer(data[-72:], np.uint8).reshape(3, 6, 4)
            case(name, data, "RGB", want=rows[::-1, :, :3])
            continue
        if name in BY_HAND:
            v = np.array(BY_HAND[name], np.uint8)
            # Entry i of the palette is blue 4 i, green 4 i + 1, red 4 i + 2.
            rgb = [v] * 3 if name == "two bytes" else [4 * v + 2, 4 * v + 1,
                                                       4 * v]
            case(name, data, "RGB", want=np.stack(rgb, -1))
            continue
        for pixel_format in FORMATS:
            case(name, data, pixel_format)

# What is no picture has no pixels: so says the standard.
name, data = next(image_seeds.seeds(f.random))
for bad in b"", b"x", b"\xff\xd8\xff", data[:len(data) // 2], b"BM" + bytes(60), \
        b"P6 70000 70000 255\n", b"P5 2 2 255\nabc", b"GIF89a" + bytes(30):
    for pixel_format, n in ("RGB", 3), ("Grayscale", 1):
        case("bad", bad, pixel_format, want=np.zeros((0, 0, n), np.uint8))
f.refused("ImageDecoder", [np.zeros(3, np.uint8)], pixel_format="CMYK")
f.refused("ImageDecoder", [np.zeros((3, 3), np.uint8)])
f.done()
