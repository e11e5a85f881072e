// What follows a product of integers becomes its epilogue: sums become floats
// and those bytes within the kernel. Something of another type has a place of
// its own there, which nothing is written to.

// CHECK-LABEL: func.func @main
// CHECK: kernel.call
// CHECK-SAME: tensor<8x16xi8>
// CHECK-NOT: kernel.call
// CHECK-LABEL: func.func private @integer_contract
// CHECK-SAME: tensor<8x16xi8>
// CHECK: tensor.empty() : tensor<8x16xi32>
// CHECK: krnl.integer_contract
// CHECK: tensor.empty() : tensor<8x16xf32>
// CHECK: arith.sitofp
// CHECK: arith.fptosi
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
func.func @main(%a: tensor<8x4xi32>, %b: tensor<1x4x16xi32>, %s: tensor<16xf32>) -> tensor<8x16xi8> {
  %e = tensor.empty() : tensor<8x16xi32>
  %0 = "krnl.integer_contract"(%a, %b, %e) {dot = "bytes"} : (tensor<8x4xi32>, tensor<1x4x16xi32>, tensor<8x16xi32>) -> tensor<8x16xi32>
  %e1 = tensor.empty() : tensor<8x16xf32>
  %1 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%0, %s : tensor<8x16xi32>, tensor<16xf32>) outs(%e1 : tensor<8x16xf32>) {
  ^bb0(%x: i32, %f: f32, %o: f32):
    %r = arith.sitofp %x : i32 to f32
    %y = arith.mulf %r, %f : f32
    linalg.yield %y : f32
  } -> tensor<8x16xf32>
  %e2 = tensor.empty() : tensor<8x16xi8>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%1 : tensor<8x16xf32>) outs(%e2 : tensor<8x16xi8>) {
  ^bb0(%x: f32, %o: i8):
    %i = arith.fptosi %x : f32 to i8
    linalg.yield %i : i8
  } -> tensor<8x16xi8>
  return %2 : tensor<8x16xi8>
}
