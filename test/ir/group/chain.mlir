// A chain over one iteration space becomes one kernel with one generic, values
// used twice included; equal kernels are shared; a value needed outside is a
// second result.
#id = affine_map<(d0, d1) -> (d0, d1)>
module {
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]]:2 = "kernel.call"(%arg0, {{.*}}) {callee = @generic.0, ins = 1 : i64, outs = 2 : i64}
// CHECK: "kernel.call"(%[[A]]#1, {{.*}}) {callee = @[[K:generic.*]], ins
// CHECK: "kernel.call"(%arg1, {{.*}}) {callee = @[[K]], ins
// CHECK: func.func private @generic.0
// CHECK: linalg.generic
// CHECK: math.exp
// CHECK: arith.mulf
// CHECK: linalg.yield %{{.*}}, %{{.*}} : f32, f32
// CHECK-NOT: linalg.generic
// CHECK: func.func private @[[K]]
func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>) {
  %e = tensor.empty() : tensor<2x3xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.exp %a : f32
    linalg.yield %r : f32
  } -> tensor<2x3xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %0 : tensor<2x3xf32>, tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.mulf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<2x3xf32>
  %c0 = arith.constant 0 : index
  %v = tensor.extract %0[%c0, %c0] : tensor<2x3xf32>
  %zero = arith.constant 0.0 : f32
  %e2 = tensor.empty() : tensor<2xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2xf32>) -> tensor<2xf32>
  %2 = linalg.generic {indexing_maps = [#id, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%1 : tensor<2x3xf32>) outs(%f : tensor<2xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %o : f32
    linalg.yield %r : f32
  } -> tensor<2xf32>
  %3 = linalg.generic {indexing_maps = [#id, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%y : tensor<2x3xf32>) outs(%f : tensor<2xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %o : f32
    linalg.yield %r : f32
  } -> tensor<2xf32>
  %t = tensor.from_elements %v, %v, %v, %v, %v, %v : tensor<2x3xf32>
  return %1, %2, %3 : tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>
}
}
