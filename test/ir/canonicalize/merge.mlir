// Equal ops are merged, dead ones dropped, transposes composed, and small
// integer results become constants.
module attributes {onnx.symbols = ["n"]} {
// CHECK-LABEL: func.func @main
// CHECK-NEXT: "onnx.relu"
// CHECK-NEXT: "onnx.add"(%0, %0)
// CHECK-NEXT: return
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = "onnx.relu"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = "onnx.relu"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = "onnx.tanh"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = "onnx.transpose"(%1) {perm = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %4 = "onnx.transpose"(%3) {perm = array<i64: 1, 0>} : (tensor<3x2xf32>) -> tensor<2x3xf32>
  %5 = "onnx.add"(%0, %4) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %5 : tensor<2x3xf32>
}
}
