// Rounding to bf16 is a product's epilogue, behind what is done in f32 before.
#id = affine_map<(d0, d1) -> (d0, d1)>
module {
// CHECK-LABEL: func.func @main
// CHECK: "kernel.call"(%arg0, %arg1, {{.*}}) {callee = @contract.0, ins = 2 : i64, outs = 1 : i64} : {{.*}} -> tensor<?x64xbf16>
// CHECK-NOT: kernel.call
// CHECK: func.func private @contract.0(%arg0: tensor<?x64xf32>, %arg1: tensor<64x64xf32>, %arg2: tensor<?x64xbf16>) -> tensor<?x64xbf16>
// CHECK: %[[SUMS:.*]] = tensor.empty(%{{.*}}) : tensor<?x64xf32>
// CHECK: "krnl.contract"(%arg0, %arg1, %[[SUMS]])
// CHECK: arith.mulf
// CHECK: arith.truncf
func.func @main(%x: tensor<?x64xf32>, %y: tensor<64x64xf32>) -> tensor<?x64xbf16> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %e = tensor.empty(%n) : tensor<?x64xf32>
  %p = "krnl.contract"(%x, %y, %e) {trans_a = 0 : i64, b = "rows"} : (tensor<?x64xf32>, tensor<64x64xf32>, tensor<?x64xf32>) -> tensor<?x64xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<?x64xf32>) outs(%e : tensor<?x64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.mulf %a, %a : f32
    linalg.yield %r : f32
  } -> tensor<?x64xf32>
  %h = tensor.empty(%n) : tensor<?x64xbf16>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<?x64xf32>) outs(%h : tensor<?x64xbf16>) {
  ^bb0(%a: f32, %o: bf16):
    %r = arith.truncf %a : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<?x64xbf16>
  return %1 : tensor<?x64xbf16>
}
}
