// Products of bf16 by dot products of pairs: a step of K is two elements, and a
// lane gets two products of each instruction.
// OPTIONS: --cpu=x86-64-v4-bf16
module {
// CHECK-LABEL: func.func private @product
// CHECK-SAME: krnl.algorithm = "dot products"
// CHECK-SAME: krnl.tile = array<i64: 8, 3, 32,
// CHECK-SAME: , 2>
// CHECK: vector<2xbf16>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"(%{{.*}}, %{{.*}}, %{{.*}}) : (vector<16xf32>, vector<32xbf16>, vector<32xbf16>)
func.func @main() {
  return
}
func.func private @product(%a: tensor<16x64xbf16>, %b: tensor<64x96xf32>, %d: tensor<16x96xf32>) -> tensor<16x96xf32> attributes {krnl.kernel, krnl.outs = 1 : i64, krnl.root = "contract"} {
  %0 = "krnl.contract"(%a, %b, %d) {trans_a = 0 : i64, b = "rows"} : (tensor<16x64xbf16>, tensor<64x96xf32>, tensor<16x96xf32>) -> tensor<16x96xf32>
  return %0 : tensor<16x96xf32>
}
}
