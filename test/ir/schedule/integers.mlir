// Products of integers: a dot product of four bytes with the last dim of A in
// elements of 32 bits, or of pairs; the destination gets bytes.
#id = affine_map<(d0, d1) -> (d0, d1)>
module {
// CHECK-LABEL: func.func private @pairs
// CHECK-SAME: krnl.algorithm = "dot products of pairs"
// CHECK: scf.for
// CHECK: arith.addi
// CHECK: arith.trunci %{{.*}} : vector<{{[0-9]+}}xi32> to vector<{{[0-9]+}}xi8>
// CHECK: vector.store {{.*}}xi8
func.func private @pairs(%a: tensor<8x4xi32>, %b: tensor<1x4x16xi32>, %d: tensor<8x16xi8>) -> tensor<8x16xi8> attributes {krnl.kernel, krnl.outs = 1 : i64, krnl.root = "integer_contract"} {
  %e = tensor.empty() : tensor<8x16xi32>
  %0 = "krnl.integer_contract"(%a, %b, %e) {dot = "pairs"} : (tensor<8x4xi32>, tensor<1x4x16xi32>, tensor<8x16xi32>) -> tensor<8x16xi32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<8x16xi32>) outs(%d : tensor<8x16xi8>) {
  ^bb0(%x: i32, %o: i8):
    %y = arith.trunci %x : i32 to i8
    linalg.yield %y : i8
  } -> tensor<8x16xi8>
  return %1 : tensor<8x16xi8>
}
}
