// A large tensor carried around loops, which a kernel makes anew each time: two
// buffers take turns, and nothing is copied but into the first and to the output.

func.func private @next(%b: index, %e: index, %x: memref<4096xf32>, %z: memref<4096xf32>)
  attributes {krnl.kernel, krnl.outs = 1, krnl.extent = affine_map<()[s0, s1] -> (s0, 1)>} { return }

func.func @main(%a: tensor<4096xf32>, %n: tensor<i64>) -> tensor<4096xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %k = tensor.extract %n[] : tensor<i64>
  %m = arith.index_cast %k : i64 to index
  %r = scf.for %i = %c0 to %m step %c1 iter_args(%x = %a) -> (tensor<4096xf32>) {
    %e = tensor.empty() : tensor<4096xf32>
    %v = "kernel.call"(%x, %e) {callee = @next, ins = 1, outs = 1} : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    scf.yield %v : tensor<4096xf32>
  }
  %w:2 = scf.while (%i = %c0, %t = %r) : (index, tensor<4096xf32>) -> (index, tensor<4096xf32>) {
    %c = arith.cmpi slt, %i, %m : index
    scf.condition(%c) %i, %t : index, tensor<4096xf32>
  } do {
  ^bb0(%i: index, %t: tensor<4096xf32>):
    %e = tensor.empty() : tensor<4096xf32>
    %v = "kernel.call"(%t, %e) {callee = @next, ins = 1, outs = 1} : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    %i1 = arith.addi %i, %c1 : index
    scf.yield %i1, %v : index, tensor<4096xf32>
  }
  return %w#1 : tensor<4096xf32>
}

// CHECK: func.func @main(%{{.*}}: !llvm.ptr, %[[OUT:.*]]: !llvm.ptr, %[[ARENA:.*]]: !llvm.ptr, %[[RUN:.*]]: !llvm.ptr) -> i32
// CHECK: "llvm.intr.memcpy"(%[[A:.*]], %{{.*}}, %[[SIZE:.*]]) <
// CHECK: %[[R:.*]]:2 = scf.for {{.*}} iter_args(%[[P:.*]] = %[[A]], %[[Q:.*]] = %[[B:.*]]) -> (!llvm.ptr, !llvm.ptr)
// CHECK-NOT: memcpy
// CHECK: llvm.store %[[P]], %[[S0:.*]] :
// CHECK: llvm.store %[[Q]], %[[S1:.*]] :
// CHECK: llvm.call @fe_rt_parallel
// CHECK-NOT: memcpy
// CHECK: scf.yield %[[Q]], %[[P]]
// CHECK: "llvm.intr.memcpy"(%[[C:.*]], %[[R]]#0, %[[SIZE]]) <
// CHECK: %[[W:.*]]:4 = scf.while (%{{.*}} = %{{.*}}, %[[P:.*]] = %[[C]], %[[Q:.*]] = %{{.*}})
// CHECK: scf.condition(%{{.*}}) %{{.*}}, %[[P]], %[[P]], %[[Q]]
// CHECK: ^bb0(%{{.*}}: index, %[[T:.*]]: !llvm.ptr, %[[P1:.*]]: !llvm.ptr, %[[Q1:.*]]: !llvm.ptr):
// CHECK-NOT: memcpy
// CHECK: llvm.store %[[T]],
// CHECK: llvm.store %[[Q1]],
// CHECK: scf.yield %{{.*}}, %[[Q1]], %[[P1]]
// CHECK: %[[O:.*]] = llvm.call @fe_rt_output
// CHECK: "llvm.intr.memcpy"(%[[O]], %[[W]]#1, %[[SIZE]]) <
