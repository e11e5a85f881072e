// FAILS
// CHECK: error: 'node': tensor too large for memory
func.func private @f(%b: index, %e: index, %x: memref<4xf32>, %y: memref<4000000000x4000000000xf32>)
  attributes {krnl.kernel, krnl.outs = 1, krnl.extent = affine_map<()[s0, s1, s2] -> (s0, 1)>} { return }
func.func @main(%x: tensor<4xf32>) -> tensor<4000000000x4000000000xf32> {
  %e = tensor.empty() : tensor<4000000000x4000000000xf32>
  %0 = "kernel.call"(%x, %e) {callee = @f, ins = 1, outs = 1} : (tensor<4xf32>, tensor<4000000000x4000000000xf32>) -> tensor<4000000000x4000000000xf32> loc("node")
  return %0 : tensor<4000000000x4000000000xf32>
}
