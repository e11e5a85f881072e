"""Small pictures in every format that ImageDecoder reads, by Pillow.

    from image_seeds import seeds
    for name, data in seeds(random): ...
"""
import io

import numpy as np
from PIL import Image

# Format, mode of the picture, options of its writer.
KINDS = [
    ("JPEG", "RGB", {}), ("JPEG", "RGB", {"progressive": True}),
    ("JPEG", "RGB", {"subsampling": 0, "quality": 95}), ("JPEG", "L", {}),
    ("JPEG", "RGB", {"subsampling": 1}), ("JPEG", "CMYK", {}),
    ("PNG", "RGB", {}), ("PNG", "L", {}), ("PNG", "P", {}), ("PNG", "1", {}),
    ("PNG", "RGBA", {}), ("PNG", "LA", {}), ("PNG", "P", {"transparency": 3}),
    ("PNG", "P", {"bits": 2}), ("WEBP", "RGB", {}),
    ("WEBP", "RGB", {"lossless": True}), ("WEBP", "RGBA", {"lossless": True}),
    ("JPEG2000", "RGB", {}), ("JPEG2000", "L", {}), ("JPEG2000", "RGBA", {}),
    ("JPEG2000", "RGB", {"no_jp2": True}),
    ("JPEG2000", "RGB", {"irreversible": True}),
    ("TIFF", "RGB", {}), ("TIFF", "L", {}), ("TIFF", "P", {}),
    ("TIFF", "1", {}), ("TIFF", "RGB", {"compression": "tiff_lzw"}),
    ("TIFF", "RGB", {"compression": "tiff_adobe_deflate"}),
    ("TIFF", "L", {"compression": "packbits"}),
    ("TIFF", "1", {"compression": "group4"}),
    ("TIFF", "RGBA", {}), ("TIFF", "RGB", {"compression": "jpeg"}),
    ("BMP", "RGB", {}), ("BMP", "L", {}), ("BMP", "P", {}), ("BMP", "1", {}),
    ("BMP", "RGBA", {}), ("PPM", "RGB", {}), ("PPM", "L", {}), ("PPM", "1", {}),
]


def picture(random, mode, width, height):
    """Smooth colours with some noise, so that compression has work."""
    y, x = np.mgrid[:height, :width]
    channels = [128 + 100 * np.sin(x / random.uniform(2, 9) +
                                   y / random.uniform(2, 9))
                + random.normal(0, 8, (height, width)) for _ in range(4)]
    data = np.clip(np.stack(channels, -1), 0, 255).astype(np.uint8)
    if mode == "CMYK":
        return Image.frombytes("CMYK", (width, height), data.tobytes())
    image = Image.frombytes("RGBA", (width, height), data.tobytes())
    if mode == "RGBA":
        return image
    if mode == "P":
        return image.convert("RGB").quantize(16)
    return image.convert("RGB").convert(mode)


def animated(random):
    frames = [picture(random, "RGB", 12, 9) for _ in range(3)]
    out = io.BytesIO()
    frames[0].save(out, "WEBP", save_all=True, append_images=frames[1:],
                   lossless=True)
    return out.getvalue()


def by_hand():
    """What Pillow reads but does not write."""
    yield "text bits", b"P1\n# a comment\n3 2\n1 0 1\n010"
    yield "text grey", b"P2 2 2 15\n0 5\n15 #x\n 7"
    yield "text colours", b"P3\n2 1\n255\n1 2 3 250 251 252\n"
    yield "two bytes", b"P5 2 1 65535\n\x00\x80\xff\x00"
    yield "run lengths 8", bmp(8, 1, b"\x03\x01\x00\x03\x02\x01\x02\x00\x00\x00"
                               b"\x02\x02\x00\x02\x02\x00\x01\x01\x00\x01")
    yield "run lengths 4", bmp(4, 2, b"\x05\x12\x00\x00\x00\x05\x12\x01\x20\x00"
                               b"\x00\x01")
    for bits, masks in ((16, (0xf800, 0x7e0, 0x1f)),
                        (32, (0xff, 0xff00, 0xff0000)), (16, None)):
        row = (6 * bits // 8 + 3) // 4 * 4
        pixels = bytes(i * 37 % 256 for i in range(3 * row))
        yield f"fields {bits}", bmp(bits, 3 if masks else 0, pixels, masks)
    yield "from the top", bmp(24, 0, bytes(range(3 * 20)), height=-3)


def bmp(bits, compression, pixels, masks=None, height=3):
    palette = bytes(range(64)) if bits <= 8 else b""
    extra = b"".join(m.to_bytes(4, "little") for m in masks or ())
    number = lambda v, n=4: v.to_bytes(n, "little", signed=v < 0)
    at = 14 + 40 + len(extra) + len(palette)
    header = number(40) + number(6) + number(height) + number(1, 2) + \
        number(bits, 2) + number(compression) + number(len(pixels)) + \
        number(0) * 2 + number(len(palette) // 4) + number(0)
    return b"BM" + number(at + len(pixels)) + number(0) + number(at) + \
        header + extra + palette + pixels


def write(folder):
    """The seeds as files, which are listed."""
    for i, (_, data) in enumerate(seeds(np.random.default_rng(1))):
        path = f"{folder}/{i}"
        with open(path, "wb") as f:
            f.write(data)
        yield path


def seeds(random, width=17, height=13):
    for kind, mode, options in KINDS:
        out = io.BytesIO()
        picture(random, mode, width, height).save(out, kind, **options)
        yield f"{kind} {mode} {options}", out.getvalue()
    yield "WEBP animated", animated(random)
    yield from by_hand()
