"""Inputs whose sizes must agree and do not: refused where the model says so,
else the end of the run, by the name of the operator and of the inputs."""
import numpy as np
import onnx
from harness import Family, ferrule, model_of

f = Family("sizes_that_differ")
MS = "com.microsoft"


def check(op, inputs, constants, expected, ends=None, **attributes):
    """ends: what the run says, where not what the compiler does."""
    feeds = {f"in{i}": a for i, a in enumerate(inputs)
             if a is not None and i not in constants}
    for dynamic in False, True:
        what = f"{op} {[a is not None and a.shape for a in inputs]} {dynamic}"
        onnx.save(model_of(op, inputs, constants=constants, dynamic=dynamic,
                           **attributes), f.path)
        try:
            model = ferrule.load(f.path)
            if not dynamic:
                f.fail(what, "was accepted")
                continue
            model.run(feeds)
            f.fail(what, "ran")
        except ferrule.Error as e:
            text = str(e)
            words = ends if dynamic and ends else expected
            if op in text and all(w in text for w in words):
                f.passed += 1
            else:
                f.fail(what, text)


x = f.normal(2, 3, 32)
packed = np.zeros((5, 2, 8), np.uint8)
check("MatMulNBits", [x, packed, f.normal(5, 2)], [1, 2],
      ["input 'A' (dim 2)", "attribute 'K'"], domain=MS, K=30, N=5, bits=4,
      block_size=16)
check("MatMulNBits", [x[0], packed, f.normal(4, 2)], [1, 2],
      ["input 'scales' (dim 0)", "attribute 'N'"], domain=MS, K=32, N=5, bits=4,
      block_size=16)
ids = np.zeros((3, 2, 4), np.int64)
cache = f.normal(9, 8)
check("MRotaryEmbedding", [f.normal(2, 3, 16), ids, cache, cache], [],
      ["'position_ids' (dim 2)", "'input' (dim 1)"], domain=MS, num_heads=1,
      mrope_section=[2, 3, 3])
check("MRotaryEmbedding", [f.normal(2, 4, 16), ids, cache, cache[:7]], [],
      ["'sin_cache' (dim 0)", "'cos_cache' (dim 0)"], domain=MS, num_heads=1,
      mrope_section=[2, 3, 3])
check("MoE", [f.normal(6, 8), f.normal(5, 3), f.normal(3, 16, 8), None,
              f.normal(3, 8, 16)], [], ["'router_probs' (dim 0)"], domain=MS)
check("MoE", [f.normal(6, 8), f.normal(6, 2), f.normal(3, 16, 8), None,
              f.normal(3, 8, 16)], [], ["'fc1_experts_weights' (dim 0)"],
      domain=MS)
byte = np.zeros((4, 3), np.uint8)
check("DynamicQuantizeMatMul", [f.normal(2, 4), byte, f.normal(2)], [],
      ["'b_scale' (dim 0)", "'B' (dim 1)"], domain=MS)
check("DynamicQuantizeMatMul", [f.normal(2, 4), byte, f.normal(1), None,
                                f.normal(1)], [], ["'bias' (dim 0)"], domain=MS)
rows = np.zeros((1, 1), np.int32)
heads = f.normal(2, 3, 16)
past = f.normal(2, 2, 4, 8)
check("MultiHeadAttention", [heads, f.normal(2, 4, 16), f.normal(2, 5, 16)], [],
      ["'value' (dim 1)", "'key' (dim 1)"], domain=MS, num_heads=2)
check("GroupQueryAttention",
      [heads, heads, heads, past, f.normal(2, 2, 5, 8), np.full(2, 2, np.int32),
       np.array(7, np.int32)], [], ["'past_value' (dim 2)"], domain=MS,
      num_heads=2, kv_num_heads=2)
check("Conv", [f.normal(1, 2, 9), f.normal(3, 2, 4)], [],
      ["kernel_shape"], kernel_shape=[3])
check("Conv", [f.normal(1, 2, 9), f.normal(3, 2, 0)], [], ["size 0"],
      ["no elements"])
f.done()
