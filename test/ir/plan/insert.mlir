// A loop that puts elements where they stay: it starts with memory that holds
// nothing yet, the caller's, and nothing but the elements is copied.

func.func @main(%x: tensor<4xf32>, %n: tensor<i64>) -> tensor<?x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %k = tensor.extract %n[] : tensor<i64>
  %m = arith.index_cast %k : i64 to index
  %e = tensor.empty(%m) : tensor<?x4xf32>
  %r = scf.for %i = %c0 to %m step %c1 iter_args(%s = %e) -> (tensor<?x4xf32>) {
    %g = "kernel.insert"(%s, %x, %i) : (tensor<?x4xf32>, tensor<4xf32>, index) -> tensor<?x4xf32>
    scf.yield %g : tensor<?x4xf32>
  }
  return %r : tensor<?x4xf32>
}

// CHECK: func.func @main(%{{.*}}: !llvm.ptr, %[[OUT:.*]]: !llvm.ptr, %{{.*}}: !llvm.ptr, %[[RUN:.*]]: !llvm.ptr) -> i32
// CHECK-NOT: fe_rt_alloc
// CHECK: %[[S:.*]] = llvm.call @fe_rt_output(%[[RUN]], %[[OUT]],
// CHECK-NOT: memcpy
// CHECK: scf.for
// CHECK-NOT: iter_args
// CHECK: %[[P:.*]] = llvm.getelementptr %[[S]][
// CHECK: "llvm.intr.memcpy"(%[[P]],
// CHECK-NOT: memcpy
// CHECK: return
