// A schedule given with the tensor form overrides the generator's choice, and
// the kernel shows what was used.
module {
// CHECK-LABEL: func.func private @product
// CHECK-SAME: krnl.schedule = {k_block = 64 : i64, row_block = 12 : i64, rows = 3 : i64}
func.func @main() {
  return
}
func.func private @product(%a: tensor<12x128xf32>, %b: tensor<128x96xf32>, %d: tensor<12x96xf32>) -> tensor<12x96xf32> attributes {krnl.kernel, krnl.outs = 1 : i64, krnl.root = "contract", krnl.schedule = {rows = 3 : i64, k_block = 64 : i64}} {
  %0 = "krnl.contract"(%a, %b, %d) {trans_a = 0 : i64, b = "rows"} : (tensor<12x128xf32>, tensor<128x96xf32>, tensor<12x96xf32>) -> tensor<12x96xf32>
  return %0 : tensor<12x96xf32>
}
}
