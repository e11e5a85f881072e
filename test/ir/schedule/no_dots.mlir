// A dump of another processor: where there are no dot products of bf16 the
// generator refuses them.
// FAILS
// OPTIONS: --cpu=x86-64-v3
module {
// CHECK: krnl.contract: these element types do not go together
func.func @main() {
  return
}
func.func private @product(%a: tensor<16x64xbf16>, %b: tensor<64x96xf32>, %d: tensor<16x96xf32>) -> tensor<16x96xf32> attributes {krnl.kernel, krnl.outs = 1 : i64, krnl.root = "contract"} {
  %0 = "krnl.contract"(%a, %b, %d) {trans_a = 0 : i64, b = "rows"} : (tensor<16x64xbf16>, tensor<64x96xf32>, tensor<16x96xf32>) -> tensor<16x96xf32>
  return %0 : tensor<16x96xf32>
}
}
