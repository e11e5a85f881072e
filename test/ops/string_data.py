"""Tensors of strings through operators that only move elements."""
import numpy as np

from harness import Family

f = Family("string_data")
x = np.array([["", "a", "größer"], ["x" * 300, "\u65e5\u672c", " b "]])
y = np.array([["p", "q", "r"], ["", "t", "u"]])
for dynamic in False, True:
    def case(op, inputs, dynamic=dynamic, **options):
        f.case(op, inputs, dynamic=dynamic, **options)

    case("Identity", [x])
    case("Reshape", [x, np.array([3, -1])], constants=[1])
    f.case("Reshape", [x, np.array([3, -1])], dynamic=dynamic and [0])
    case("Flatten", [x], axis=0)
    case("Unsqueeze", [x, np.array([1])], constants=[1])
    case("Squeeze", [x[:1], np.array([0])], constants=[1])
    case("Shape", [x])
    case("Size", [x])
    case("Transpose", [x])
    case("Concat", [x, y], axis=1)
    case("Concat", [x, y], axis=0)
    case("Concat", [x, y], axis=1, constants=[1])
    case("Gather", [x, np.array([2, 0, -1])], axis=1)
    case("Slice", [x, np.array([2]), np.array([-10]), np.array([1]),
                   np.array([-1])], constants=[1, 2, 3, 4])
    f.case("Slice", [x, np.array([2]), np.array([-10]), np.array([1]),
                     np.array([-1])], dynamic=dynamic and [0])
    case("Where", [np.array([[True, False, True]]), x, y])
    f.case("Expand", [x[:1], np.array([4, 3])], dynamic=dynamic and [0])
    case("Tile", [x, np.array([2, 1])], constants=[1])
    f.case("GatherND", [x, np.array([[0, 2], [1, 0]])], dynamic=dynamic and [0])
    case("GatherElements", [x, np.array([[0, 2], [1, 0]])], axis=1)
    case("ScatterElements", [x, np.array([[0, 2], [1, 0]]), y[:, :2]], axis=1)
    f.case("ScatterND", [x, np.array([[0, 2], [1, 0]]), y[0, :2]],
           dynamic=dynamic and [0])
    case("Compress", [x, np.array([True, False, True])], axis=1)
    blocks = np.array([f"{i}" for i in range(16)]).reshape(1, 4, 2, 2)
    case("DepthToSpace", [blocks], blocksize=2,
         want=[blocks.reshape(1, 2, 2, 1, 2, 2).transpose(
             0, 3, 4, 1, 5, 2).reshape(1, 1, 4, 4).astype(object)])
    case("ReverseSequence", [x, np.array([2, 3])], batch_axis=0, time_axis=1)
    for fill in "", "fill":
        padded = np.full((3, 5), fill, object)
        padded[1:, :3] = x
        case("Pad", [x, np.array([1, 0, 0, 2])] +
             ([np.array(fill)] if fill else []), constants=[1], want=[padded])
    case("Identity", [x[:0]])
    case("Concat", [x[:0], y], axis=0)
for shape in (), (17,), (5, 7, 9), (64, 3), (3, 64), (33, 65):
    n = int(np.prod(shape))
    z = np.array([str(i) for i in range(n)]).reshape(shape)
    f.case("Identity", [z], dynamic=True)
    f.case("Transpose", [z])
    f.case("Transpose", [z], dynamic=True)
f.case("Transpose", [np.array([str(i) for i in range(210)]).reshape(5, 6, 7)],
       perm=[1, 0, 2])
f.done()
