// Concatenations of what follows each other in memory: the inputs are computed
// in the result; an earlier one that is the beginning of a later one is there
// already. Inputs of the model are copied. The kernel is gone.

func.func private @f(%b: index, %e: index, %x: memref<?xf32>, %z: memref<16xf32>)
  attributes {krnl.kernel, krnl.outs = 1, krnl.extent = affine_map<()[s0, s1] -> (s1, 1)>} { return }
func.func private @cat(%b: index, %e: index, %x: memref<1x16xf32>, %y: memref<1x?xf32>, %z: memref<1x?xf32>)
  attributes {krnl.kernel, krnl.concat, krnl.outs = 1, krnl.extent = affine_map<()[s0, s1, s2, s3, s4, s5] -> (s0, s5)>} { return }
func.func private @cat3(%b: index, %e: index, %x: memref<1x16xf32>, %y: memref<1x16xf32>, %w: memref<1x16xf32>, %z: memref<1x?xf32>)
  attributes {krnl.kernel, krnl.concat, krnl.outs = 1, krnl.extent = affine_map<()[s0, s1, s2, s3, s4, s5, s6, s7] -> (s0, s7)>} { return }

func.func @main(%x: tensor<16xf32>) -> (tensor<16xf32>, tensor<1x32xf32>) {
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c48 = arith.constant 48 : index
  %e = tensor.empty() : tensor<16xf32>
  %e2 = tensor.empty() : tensor<1x32xf32>
  %e3 = tensor.empty() : tensor<1x48xf32>
  %0 = "kernel.call"(%x, %e) {callee = @f, ins = 1, outs = 1} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %1 = "kernel.call"(%0, %e) {callee = @f, ins = 1, outs = 1} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %p0 = "krnl.reshape"(%0, %c1, %c16) : (tensor<16xf32>, index, index) -> tensor<1x16xf32>
  %p1 = "krnl.reshape"(%1, %c1, %c16) : (tensor<16xf32>, index, index) -> tensor<1x16xf32>
  %t = "kernel.call"(%p0, %p1, %e2) {callee = @cat, ins = 2, outs = 1} : (tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
  %u = "krnl.reshape"(%t, %c32) : (tensor<1x32xf32>, index) -> tensor<32xf32>
  %2 = "kernel.call"(%u, %e) {callee = @f, ins = 1, outs = 1} : (tensor<32xf32>, tensor<16xf32>) -> tensor<16xf32>
  %p2 = "krnl.reshape"(%2, %c1, %c16) : (tensor<16xf32>, index, index) -> tensor<1x16xf32>
  %v = "kernel.call"(%p0, %p1, %p2, %e3) {callee = @cat3, ins = 3, outs = 1} : (tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x48xf32>) -> tensor<1x48xf32>
  %w = "krnl.reshape"(%v, %c48) : (tensor<1x48xf32>, index) -> tensor<48xf32>
  %3 = "kernel.call"(%w, %e) {callee = @f, ins = 1, outs = 1} : (tensor<48xf32>, tensor<16xf32>) -> tensor<16xf32>
  %px = "krnl.reshape"(%x, %c1, %c16) : (tensor<16xf32>, index, index) -> tensor<1x16xf32>
  %y = "kernel.call"(%px, %px, %e2) {callee = @cat, ins = 2, outs = 1} : (tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
  return %3, %y : tensor<16xf32>, tensor<1x32xf32>
}

// CHECK-NOT: @cat
// CHECK: func.func @main(%[[IN:.*]]: !llvm.ptr, %[[OUT:.*]]: !llvm.ptr, %[[ARENA:.*]]: !llvm.ptr, %[[RUN:.*]]: !llvm.ptr) -> i32
// CHECK: %[[X:.*]] = llvm.load %[[IN]] : !llvm.ptr -> !llvm.ptr
// CHECK: llvm.store %[[X]], %[[SLOTS:[0-9a-z]+]]
// CHECK: %[[DEST:.*]] = llvm.getelementptr %[[SLOTS]][16]
// CHECK: llvm.store %[[ARENA]], %[[DEST]]
// CHECK: llvm.call @fe_rt_parallel
// CHECK: %[[P1:.*]] = llvm.getelementptr %[[ARENA]][64]
// CHECK: llvm.store %[[ARENA]], %[[SLOTS]]
// CHECK: llvm.store %[[P1]], %[[DEST]]
// CHECK: llvm.call @fe_rt_parallel
// CHECK: %[[P2:.*]] = llvm.getelementptr %[[ARENA]][128]
// CHECK: llvm.store %[[ARENA]], %[[SLOTS]]
// CHECK: llvm.store %[[P2]], %[[DEST]]
// CHECK: llvm.call @fe_rt_parallel
// CHECK: llvm.call @fe_rt_output(%[[RUN]], %[[OUT]],
// CHECK: llvm.store %[[ARENA]], %[[SLOTS]]
// CHECK: llvm.call @fe_rt_parallel
// CHECK: %[[Y:.*]] = llvm.call @fe_rt_output(
// CHECK: "llvm.intr.memcpy"(%[[Y]], %[[X]],
// CHECK: %[[Y1:.*]] = llvm.getelementptr %[[Y]][64]
// CHECK: "llvm.intr.memcpy"(%[[Y1]], %[[X]],
// CHECK: func.func @arena_size
// CHECK-NEXT: %[[C:.*]] = arith.constant 192 : i64
// CHECK-NEXT: return %[[C]]
