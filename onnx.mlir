func.func @main(%x: tensor<?x3xf32, affine_map<()[s0] -> (s0, 3)>>)
    -> tensor<?x3xf32, affine_map<()[s0] -> (s0, 3)>> {
  %c = "onnx.constant"() {value = dense<1.0> : tensor<f32>}
    : () -> tensor<f32>
  %y = "onnx.add"(%x, %c)
    : (tensor<?x3xf32, affine_map<()[s0] -> (s0, 3)>>, tensor<f32>)
    -> tensor<?x3xf32, affine_map<()[s0] -> (s0, 3)>>
  return %y : tensor<?x3xf32, affine_map<()[s0] -> (s0, 3)>>
}
