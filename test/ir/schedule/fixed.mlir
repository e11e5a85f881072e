// Panels of 24 bits: of 130 rows of three panels, and behind them 3 with the
// scales of two blocks of K. One shuffle makes 16 integers of their bytes.
// OPTIONS: --cpu=x86-64-v4
module {
// CHECK-LABEL: func.func private @product
// CHECK-SAME: krnl.plan = "{{.*}} in 24 bits"
// CHECK: vector.load %{{.*}} : memref<57456xi8>, vector<64xi8>
// CHECK: vector.shuffle %{{.*}} [0, 0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9, 9, 10, 11, 16, 16, 17, 18,
// CHECK: vector.bitcast %{{.*}} : vector<64xi8> to vector<16xi32>
// CHECK: arith.sitofp %{{.*}} : vector<16xi32> to vector<16xf32>
// CHECK: arith.mulf
// CHECK: vector.fma
func.func @main() {
  return
}
func.func private @product(%a: tensor<2x130xf32>, %b: tensor<3x133x144xi8>, %d: tensor<2x130xf32>) -> tensor<2x130xf32> attributes {krnl.kernel, krnl.outs = 1 : i64, krnl.root = "contract"} {
  %0 = "krnl.contract"(%a, %b, %d) {trans_a = 0 : i64, b = "fixed", depth = 130 : i64} : (tensor<2x130xf32>, tensor<3x133x144xi8>, tensor<2x130xf32>) -> tensor<2x130xf32>
  return %0 : tensor<2x130xf32>
}
}
