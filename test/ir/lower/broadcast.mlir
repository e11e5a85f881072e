// Sizes that follow from the inputs are computed once, at entry; an operand
// that may be 1 or equal is read with a subscript chosen at run time, after a
// check that the shapes broadcast.
#a = affine_map<()[s0, s1, s2] -> (s0, 4)>
#b = affine_map<()[s0, s1, s2] -> (s1, 4)>
#c = affine_map<()[s0, s1, s2] -> (s2, 4)>
module attributes {onnx.symbols = ["n", "m", "unknown"]} {
// CHECK-LABEL: func.func @main
// CHECK: %[[N:.*]] = tensor.dim %arg0
// CHECK: %[[M:.*]] = tensor.dim %arg1
// CHECK: "krnl.check"(%{{.*}}) {message = "Add{{.*}}broadcast"} : (i1) -> ()
// CHECK: linalg.generic
// CHECK: tensor.extract %arg1
// CHECK: arith.addf
func.func @main(%x: tensor<?x4xf32, #a>, %y: tensor<?x4xf32, #b>) -> tensor<?x4xf32, #c> {
  %0 = "onnx.add"(%x, %y) : (tensor<?x4xf32, #a>, tensor<?x4xf32, #b>) -> tensor<?x4xf32, #c>
  return %0 : tensor<?x4xf32, #c>
}
}
