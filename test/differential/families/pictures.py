"""ImageDecoder: pictures that Pillow writes, in all formats of the standard."""
import io

import numpy as np

try:
    from PIL import Image

    import image_seeds
except ImportError:
    Image = None
from draw import Impossible

MODES = {
    "JPEG": ("RGB", "L", "CMYK"), "PNG": ("RGB", "L", "P", "1", "RGBA", "LA"),
    "WEBP": ("RGB", "RGBA"), "JPEG2000": ("RGB", "L", "RGBA"),
    "TIFF": ("RGB", "L", "P", "1", "RGBA"),
    "BMP": ("RGB", "L", "P", "1", "RGBA"), "PPM": ("RGB", "L", "1"),
}


def options(d, kind, mode):
    """How it is written."""
    if kind == "JPEG":
        return dict(quality=d.integer(5, 100), progressive=d.chance(.3),
                    optimize=d.chance(.3),
                    **({"subsampling": d.integer(0, 2)}
                       if mode == "RGB" else {}))
    if kind == "PNG":
        return dict(compress_level=d.integer(0, 9),
                    **({"bits": 4} if mode == "P" and d.chance(.3) else {}))
    if kind == "WEBP":
        return dict(lossless=d.chance(.5), quality=d.integer(5, 100),
                    exact=d.chance(.3))
    if kind == "JPEG2000":
        return dict(irreversible=d.chance(.5), no_jp2=d.chance(.4))
    if kind == "TIFF":
        some = [None, "tiff_lzw", "tiff_adobe_deflate", "packbits"]
        if mode == "1":
            some += ["group3", "group4"]
        if mode in ("RGB", "L"):
            some.append("jpeg")
        return dict(compression=d.pick(*some))
    return {}


def decoded(data, pixel_format):
    """By Pillow; without pixels what is no picture."""
    grey = pixel_format == "Grayscale"
    try:
        image = Image.open(io.BytesIO(data.tobytes()))
        image.load()
    except Exception:
        return np.zeros((0, 0, 1 if grey else 3), np.uint8)
    if grey:
        return np.array(image.convert("L"))[..., None]
    found = np.array(image.convert("RGB"))
    return found[..., ::-1] if pixel_format == "BGR" else found


def decode(d):
    if not Image:
        raise Impossible("no Pillow")
    kind = d.pick(*MODES)
    mode = d.pick(*MODES[kind])
    out = io.BytesIO()
    image_seeds.picture(d.rng, mode, d.integer(1, 70), d.integer(1, 70)).save(
        out, kind, **options(d, kind, mode))
    data = np.frombuffer(out.getvalue(), np.uint8)
    if d.chance(.05):
        data = d.array(d.type("T1"), (d.integer(0, 60),), 0, 255)
    how = d.pick(None, "RGB", "BGR", "Grayscale")
    return d.node([d.given(data)], pixel_format=how, spread="exact", known=lambda
                  x: [decoded(x, how or "RGB")])


OPS = {"ImageDecoder": decode}
