// Tensors carried around loops. Of unchanging size: one buffer each, a parallel
// copy at the end of the body. Of changing size: new heap memory each time, the
// old one freed. Handed on unchanged: nothing at all.

func.func private @add(%b: index, %e: index, %x: memref<4xf32>, %y: memref<4xf32>, %z: memref<4xf32>)
  attributes {krnl.kernel, krnl.outs = 1, krnl.extent = affine_map<()[s0, s1, s2] -> (s0, 1)>} { return }
func.func private @grow(%b: index, %e: index, %x: memref<?xf32>, %z: memref<?xf32>)
  attributes {krnl.kernel, krnl.outs = 1, krnl.extent = affine_map<()[s0, s1] -> (s1, 1)>} { return }

func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>, %s: tensor<?xf32>, %n: tensor<i64>)
    -> (tensor<4xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %k = tensor.extract %n[] : tensor<i64>
  %m = arith.index_cast %k : i64 to index
  %r:3 = scf.for %i = %c0 to %m step %c1 iter_args(%x = %a, %y = %b, %z = %b) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %e = tensor.empty() : tensor<4xf32>
    %v = "kernel.call"(%x, %z, %e) {callee = @add, ins = 2, outs = 1} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %y, %v, %z : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  %w:2 = scf.while (%i = %c0, %t = %s) : (index, tensor<?xf32>) -> (index, tensor<?xf32>) {
    %c = arith.cmpi slt, %i, %m : index
    scf.condition(%c) %i, %t : index, tensor<?xf32>
  } do {
  ^bb0(%i: index, %t: tensor<?xf32>):
    %d = tensor.dim %t, %c0 : tensor<?xf32>
    %d1 = arith.addi %d, %c1 : index
    %e = tensor.empty(%d1) : tensor<?xf32>
    %g = "kernel.call"(%t, %e) {callee = @grow, ins = 1, outs = 1} : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    %i1 = arith.addi %i, %c1 : index
    scf.yield %i1, %g : index, tensor<?xf32>
  }
  return %r#0, %w#1 : tensor<4xf32>, tensor<?xf32>
}

// CHECK: func.func @main(%[[IN:.*]]: !llvm.ptr, %[[OUT:.*]]: !llvm.ptr, %[[ARENA:.*]]: !llvm.ptr, %[[RUN:.*]]: !llvm.ptr) -> i32
// The first result is carried in the caller's memory.
// CHECK: %[[X:.*]] = llvm.call @fe_rt_output(%[[RUN]], %[[OUT]],
// CHECK: "llvm.intr.memcpy"(%[[X]], %[[A:.*]], %[[SIZE:.*]]) <
// CHECK: "llvm.intr.memcpy"(%[[Y:.*]], %[[B:.*]], %[[SIZE]]) <
// CHECK: scf.for
// CHECK-NOT: iter_args
// CHECK: llvm.store %[[X]], %[[SLOTS:[0-9]+]]
// CHECK: llvm.store %[[B]],
// CHECK: llvm.store %[[V:.*]], %
// CHECK: llvm.call @fe_rt_parallel
// CHECK-NEXT: %[[T:.*]] = llvm.getelementptr %[[ARENA]]
// CHECK-NEXT: "llvm.intr.memcpy"(%[[T]], %[[Y]], %[[SIZE]]) <
// CHECK-NEXT: "llvm.intr.memcpy"(%[[X]], %[[T]], %[[SIZE]]) <
// CHECK-NEXT: "llvm.intr.memcpy"(%[[Y]], %[[V]], %[[SIZE]]) <
// CHECK-NEXT: {{^ *}$}}
// CHECK: %[[H:.*]] = llvm.call @fe_rt_alloc
// CHECK: "llvm.intr.memcpy"(%[[H]],
// CHECK: scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %[[H]], %{{.*}} = %{{.*}}) : (index, !llvm.ptr, index)
// CHECK: ^bb0(%{{.*}}: index, %[[OLD:.*]]: !llvm.ptr, %[[OLDN:.*]]: index, %[[FREE:.*]]: !llvm.ptr):
// CHECK: %[[NEWN:.*]] = arith.addi %[[OLDN]],
// CHECK: %[[NEW:.*]] = llvm.call @fe_rt_alloc
// CHECK: llvm.call @fe_rt_parallel
// CHECK: llvm.call @fe_rt_free(%[[RUN]], %[[FREE]])
// CHECK: scf.yield %{{.*}}, %[[NEW]], %[[NEWN]]
// CHECK: llvm.call @fe_rt_output
// CHECK: "llvm.intr.memcpy"
// CHECK: return
