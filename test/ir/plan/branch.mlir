// Results of branches: from the arena a pointer; from a branch's heap memory the
// memory itself is handed over, what a branch does not hold is copied.

func.func private @f(%b: index, %e: index, %x: memref<4xf32>, %z: memref<4xf32>)
  attributes {krnl.kernel, krnl.outs = 1, krnl.extent = affine_map<()[s0, s1] -> (s0, 1)>} { return }
func.func private @g(%b: index, %e: index, %x: memref<?xf32>, %z: memref<?xf32>)
  attributes {krnl.kernel, krnl.outs = 1, krnl.extent = affine_map<()[s0, s1] -> (s1, 1)>} { return }

func.func @main(%a: tensor<4xf32>, %s: tensor<?xf32>, %n: tensor<i64>) -> (tensor<4xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %k = tensor.extract %n[] : tensor<i64>
  %m = arith.index_cast %k : i64 to index
  %c = arith.cmpi sgt, %m, %c0 : index
  %e = tensor.empty() : tensor<4xf32>
  %r:2 = scf.if %c -> (tensor<4xf32>, tensor<?xf32>) {
    %0 = "kernel.call"(%a, %e) {callee = @f, ins = 1, outs = 1} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %h = tensor.empty(%m) : tensor<?xf32>
    %1 = "kernel.call"(%s, %h) {callee = @g, ins = 1, outs = 1} : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    %2 = "kernel.call"(%1, %h) {callee = @g, ins = 1, outs = 1} : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    scf.yield %0, %2 : tensor<4xf32>, tensor<?xf32>
  } else {
    scf.yield %a, %s : tensor<4xf32>, tensor<?xf32>
  }
  %3 = "kernel.call"(%r#0, %e) {callee = @f, ins = 1, outs = 1} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %3, %r#1 : tensor<4xf32>, tensor<?xf32>
}

// CHECK: func.func @main(%[[IN:.*]]: !llvm.ptr, %[[OUT:.*]]: !llvm.ptr, %[[ARENA:.*]]: !llvm.ptr, %[[RUN:.*]]: !llvm.ptr) -> i32
// CHECK: %[[A:.*]] = llvm.load %[[IN]] : !llvm.ptr -> !llvm.ptr
// CHECK: %[[R:.*]]:3 = scf.if %{{.*}} -> (!llvm.ptr, !llvm.ptr, index)
// CHECK: llvm.store %[[ARENA]],
// CHECK: llvm.call @fe_rt_parallel
// CHECK: %[[H1:.*]] = llvm.call @fe_rt_alloc
// CHECK: llvm.call @fe_rt_parallel
// CHECK: %[[H2:.*]] = llvm.call @fe_rt_alloc
// CHECK: llvm.call @fe_rt_parallel
// CHECK-NEXT: llvm.call @fe_rt_free(%[[RUN]], %[[H1]])
// CHECK-NEXT: scf.yield %[[ARENA]], %[[H2]], %
// CHECK: } else {
// CHECK: %[[H3:.*]] = llvm.call @fe_rt_alloc
// CHECK: "llvm.intr.memcpy"(%[[H3]],
// CHECK: scf.yield %[[A]], %[[H3]], %
// CHECK: %[[Y:.*]] = llvm.call @fe_rt_output(%[[RUN]], %[[OUT]],
// CHECK: llvm.store %[[R]]#0,
// CHECK: llvm.call @fe_rt_parallel
// CHECK: %[[Z:.*]] = llvm.call @fe_rt_output
// CHECK: "llvm.intr.memcpy"(%[[Z]], %[[R]]#1,
// CHECK: return
