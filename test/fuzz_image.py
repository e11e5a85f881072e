"""usage: fuzz_image.py PROGRAM TIMES: small pictures for fuzz_image."""
import subprocess
import sys
import tempfile

try:
    import image_seeds
except ImportError:
    print("no Pillow, skipped")
    sys.exit(77)

with tempfile.TemporaryDirectory() as folder:
    sys.exit(subprocess.run([sys.argv[1], sys.argv[2],
                             *image_seeds.write(folder)]).returncode)
