// Sizes that follow from the inputs lie in the arena too: slots whose sizes are
// computed at the start, by the same operations in arena_size.

// CHECK: krnl.inputs = [{dims = array<i64: -1, 4>, dtype = 1 : i64, name = "x"}, {dims = array<i64: -2>, dtype = 2 : i64, name = "input1"}]
// CHECK-SAME: krnl.outputs = [{dims = array<i64: -1, 4>, dtype = 1 : i64, name = "y"}, {dims = array<i64: -9223372036854775808>, dtype = 9 : i64, name = "output1"}]
// CHECK-SAME: krnl.symbols = ["batch", "input1.0"]

module attributes {onnx.symbols = ["unused", "batch"]} {
func.func private @f(%b: index, %e: index, %x: memref<?x4xf32>, %y: memref<?x4xf32>)
  attributes {krnl.kernel, krnl.outs = 1,
    krnl.extent = affine_map<()[s0, s1, s2, s3] -> (s0, s1)>} { return }
func.func private @g(%b: index, %e: index, %x: memref<?xi8>, %y: memref<?xi8>, %n: index)
  attributes {krnl.kernel, krnl.outs = 1,
    krnl.extent = affine_map<()[s0, s1, s2] -> (s2, 1)>} { return }

func.func @main(
    %x: tensor<?x4xf32> {onnx.name = "x", onnx.type = tensor<?x4xf32, affine_map<()[s0, s1] -> (s1, 4)>>},
    %z: tensor<?xi8> {onnx.type = tensor<?xui8, affine_map<()[s0, s1] -> (s1 * 2)>>})
    -> (tensor<?x4xf32> {onnx.name = "y", onnx.type = tensor<?x4xf32, affine_map<()[s0, s1] -> (s1, 4)>>},
        tensor<?xi8> {onnx.type = tensor<?xi1, affine_map<()[s0, s1] -> (s1 + 1)>>}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d = tensor.dim %x, %c0 : tensor<?x4xf32>
  %e = tensor.empty(%d) : tensor<?x4xf32>
  %0 = "kernel.call"(%x, %e) {callee = @f, ins = 1, outs = 1} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %1 = "kernel.call"(%0, %e) {callee = @f, ins = 1, outs = 1} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %2 = "kernel.call"(%1, %e) {callee = @f, ins = 1, outs = 1} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %3 = "kernel.call"(%2, %e) {callee = @f, ins = 1, outs = 1} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %n = arith.addi %d, %c1 : index
  %g = tensor.empty(%n) : tensor<?xi8>
  %4 = "kernel.call"(%z, %g, %n) {callee = @g, ins = 1, outs = 1} : (tensor<?xi8>, tensor<?xi8>, index) -> tensor<?xi8>
  return %3, %4 : tensor<?x4xf32>, tensor<?xi8>
}
}

// CHECK: func.func @main(%[[IN:.*]]: !llvm.ptr, %[[OUT:.*]]: !llvm.ptr, %[[ARENA:.*]]: !llvm.ptr, %[[RUN:.*]]: !llvm.ptr) -> i32
// CHECK: %[[P:.*]] = llvm.getelementptr %[[IN]][24]
// CHECK: %[[N:.*]] = llvm.load %[[P]] : !llvm.ptr -> i64
// CHECK: arith.muli %[[N]],
// CHECK: "krnl.check"{{.*}} {message = "the model's tensors are too large for memory"}
// CHECK: llvm.call @fe_rt_parallel
// CHECK: %[[SECOND:.*]] = llvm.getelementptr %[[ARENA]][%{{.*}}]
// CHECK: llvm.call @fe_rt_parallel
// CHECK: llvm.store %[[SECOND]],
// CHECK: llvm.store %[[ARENA]],
// CHECK: llvm.call @fe_rt_parallel
// CHECK: llvm.call @fe_rt_output(%[[RUN]], %[[OUT]],
// CHECK: llvm.call @fe_rt_parallel
// CHECK-NOT: fe_rt_alloc
// CHECK: func.func @arena_size(%[[SYMBOLS:.*]]: !llvm.ptr) -> i64
// CHECK: llvm.load %[[SYMBOLS]] : !llvm.ptr -> i64
// CHECK-NOT: llvm.load
// CHECK: arith.select
// CHECK: return
