// Iterators that run together are one loop, shared out by [begin, end); a
// reduction keeps its sum in a register.
#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
module {
// CHECK-LABEL: func.func private @pointwise
// CHECK-SAME: krnl.extent = #[[E:.*]], krnl.kernel
// CHECK: scf.for %[[I:.*]] = %arg0 to %arg1
// CHECK-NEXT: memref.load %{{.*}}[%[[I]]] : memref<24xf32>
// CHECK-NOT: scf.for
// CHECK-LABEL: func.func private @sum
// CHECK: scf.for %{{.*}} = %arg0 to %arg1
// CHECK: scf.for {{.*}} iter_args
// CHECK-NOT: memref.store
// CHECK: scf.yield
// CHECK: memref.store
func.func @main() {
  return
}
func.func private @pointwise(%x: tensor<2x3x4xf32>, %d: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> attributes {krnl.kernel, krnl.outs = 1 : i64, krnl.root = "generic"} {
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<2x3x4xf32>) outs(%d : tensor<2x3x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.mulf %a, %a : f32
    linalg.yield %r : f32
  } -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}
func.func private @sum(%x: tensor<2x300xf32>, %d: tensor<2xf32>) -> tensor<2xf32> attributes {krnl.kernel, krnl.outs = 1 : i64, krnl.root = "generic"} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%d : tensor<2xf32>) -> tensor<2xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<2x300xf32>) outs(%f : tensor<2xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %o : f32
    linalg.yield %r : f32
  } -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
}
