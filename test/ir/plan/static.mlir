// All sizes known: offsets are numbers, 64-byte aligned; a buffer is used again
// once its reader is done, never for that reader's result.

// CHECK: krnl.blobs = {{\[\[}}"w", 0], ["constant", 64]]
// CHECK-SAME: krnl.inputs = [{dims = array<i64: 8, 4>, dtype = 1 : i64, name = "x"}]
// CHECK-SAME: krnl.outputs = [{dims = array<i64: 8, 4>, dtype = 1 : i64, name = "y"}]
// CHECK-SAME: krnl.symbols = []
// CHECK-SAME: krnl.weight_bytes = 192 : i64

func.func private @f(%b: index, %e: index, %x: memref<8x4xf32>, %w: memref<4xf32>, %y: memref<8x4xf32>)
  attributes {krnl.kernel, krnl.outs = 1,
    krnl.extent = affine_map<()[s0, s1, s2, s3, s4] -> (s3 floordiv 2, s4 * 10 + s2)>} { return }

func.func @main(%x: tensor<8x4xf32> {onnx.name = "x"}) -> (tensor<8x4xf32> {onnx.name = "y"}) {
  %e = tensor.empty() : tensor<8x4xf32>
  %w = "krnl.weight"() {blob = "w"} : () -> tensor<4xf32>
  %c = arith.constant dense<[[0., 1., 2., 3.], [0., 1., 2., 3.], [0., 1., 2., 3.], [0., 1., 2., 3.], [0., 1., 2., 3.], [0., 1., 2., 3.], [0., 1., 2., 3.], [0., 1., 2., 3.]]> : tensor<8x4xf32>
  %0 = "kernel.call"(%x, %w, %e) {callee = @f, ins = 2, outs = 1} : (tensor<8x4xf32>, tensor<4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = "kernel.call"(%0, %w, %e) {callee = @f, ins = 2, outs = 1} : (tensor<8x4xf32>, tensor<4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = "kernel.call"(%1, %w, %e) {callee = @f, ins = 2, outs = 1} : (tensor<8x4xf32>, tensor<4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %3 = "kernel.call"(%c, %w, %e) {callee = @f, ins = 2, outs = 1} : (tensor<8x4xf32>, tensor<4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %4 = "kernel.call"(%3, %w, %e) {callee = @f, ins = 2, outs = 1} : (tensor<8x4xf32>, tensor<4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %4 : tensor<8x4xf32>
}

// CHECK: func.func @main(%[[IN:.*]]: !llvm.ptr, %[[OUT:.*]]: !llvm.ptr, %[[ARENA:.*]]: !llvm.ptr, %[[RUN:.*]]: !llvm.ptr) -> i32
// CHECK: %[[SLOTS:.*]] = llvm.alloca %{{.*}} x i64
// CHECK: %[[X:.*]] = llvm.load %[[IN]] : !llvm.ptr -> !llvm.ptr
// CHECK: %[[W:.*]] = llvm.mlir.addressof @weights
// CHECK: llvm.store %[[X]], %[[SLOTS]]
// CHECK: %[[S1:.*]] = llvm.getelementptr %[[SLOTS]][8]
// CHECK: llvm.store %[[W]], %[[S1]]
// CHECK: %[[S2:.*]] = llvm.getelementptr %[[SLOTS]][16]
// CHECK: llvm.store %[[ARENA]], %[[S2]]
// CHECK: %[[PART:.*]] = llvm.mlir.addressof @f.part
// CHECK: %[[ITEMS:.*]] = arith.constant 4 : i64
// CHECK: %[[COST:.*]] = arith.constant 44 : i64
// CHECK: llvm.call @fe_rt_parallel(%[[RUN]], %[[PART]], %[[SLOTS]], %[[ITEMS]], %[[COST]], %{{.*}})
// CHECK: %[[SECOND:.*]] = llvm.getelementptr %[[ARENA]][128]
// CHECK: llvm.store %[[ARENA]], %[[SLOTS]]
// CHECK: llvm.store %[[SECOND]], %[[S2]]
// CHECK: llvm.call @fe_rt_parallel
// CHECK: llvm.store %[[SECOND]], %[[SLOTS]]
// CHECK: llvm.store %[[ARENA]], %[[S2]]
// CHECK: llvm.call @fe_rt_parallel
// CHECK: llvm.call @fe_rt_parallel
// CHECK-NOT: krnl.check
// CHECK: %[[BYTES:.*]] = llvm.call @fe_rt_output(%[[RUN]], %[[OUT]],
// CHECK: llvm.store %[[BYTES]], %[[S2]]
// CHECK: llvm.call @fe_rt_parallel
// CHECK-NOT: llvm.intr.memcpy
// CHECK: llvm.func @f.part(!llvm.ptr, i64, i64)
// CHECK: func.func @arena_size
// CHECK-NEXT: %[[C:.*]] = arith.constant 256 : i64
// CHECK-NEXT: return %[[C]]
// CHECK: llvm.mlir.global external constant @weights() {{.*}} : !llvm.array<192 x i8>
