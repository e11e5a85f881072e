// A size that depends on data: heap memory, freed after the last use. Small
// tensors are read and written in main; a large splat is written by a loop.

func.func private @f(%b: index, %e: index, %x: memref<?xf32>, %p: memref<2xi64>, %s: memref<64x64xf32>, %z: memref<?xf32>, %n: index)
  attributes {krnl.kernel, krnl.outs = 1,
    krnl.extent = affine_map<()[s0, s1, s2, s3, s4, s5] -> (s4 ceildiv 2, s5 mod 3)>} { return }

func.func @main(%x: tensor<?xf32>, %n: tensor<2x2xi64>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %k = tensor.extract %n[%c1, %c0] : tensor<2x2xi64>
  %m = arith.index_cast %k : i64 to index
  %ok = arith.cmpi sge, %m, %c0 : index
  "krnl.check"(%ok) {message = "a size is negative"} : (i1) -> ()
  %p = tensor.from_elements %k, %k : tensor<2xi64>
  %s = arith.constant dense<2.0> : tensor<64x64xf32>
  %e = tensor.empty(%m) : tensor<?xf32>
  %0 = "kernel.call"(%x, %p, %s, %e, %m) {callee = @f, ins = 3, outs = 1} : (tensor<?xf32>, tensor<2xi64>, tensor<64x64xf32>, tensor<?xf32>, index) -> tensor<?xf32>
  %1 = "kernel.call"(%0, %p, %s, %e, %m) {callee = @f, ins = 3, outs = 1} : (tensor<?xf32>, tensor<2xi64>, tensor<64x64xf32>, tensor<?xf32>, index) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}

// CHECK: func.func @main(%[[IN:.*]]: !llvm.ptr, %[[OUT:.*]]: !llvm.ptr, %[[ARENA:.*]]: !llvm.ptr, %[[RUN:.*]]: !llvm.ptr) -> i32
// CHECK: %[[NP:.*]] = llvm.load %{{.*}} : !llvm.ptr -> !llvm.ptr
// CHECK: %[[AT:.*]] = llvm.getelementptr %{{.*}}[16] : (!llvm.ptr) -> !llvm.ptr, i8
// CHECK: %[[K:.*]] = llvm.load %[[AT]] : !llvm.ptr -> i64
// CHECK: "krnl.check"{{.*}} {message = "a size is negative"}
// CHECK: llvm.store %[[K]],
// CHECK: llvm.store %[[K]],
// CHECK: scf.for
// CHECK: llvm.store %{{.*}} : f32
// CHECK: %[[H:.*]] = llvm.call @fe_rt_alloc(%[[RUN]],
// CHECK: %[[ITEMS:.*]] = arith.ceildivsi
// CHECK: llvm.call @fe_rt_parallel
// CHECK: llvm.call @fe_rt_output
// CHECK: llvm.store %[[H]],
// CHECK: llvm.call @fe_rt_parallel
// CHECK-NEXT: llvm.call @fe_rt_free(%[[RUN]], %[[H]])
// CHECK: return
