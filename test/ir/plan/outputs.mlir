// An output is computed in place, through a view too; copied when it is an
// input, a weight, or another output already.

// CHECK: krnl.outputs = [{dims = array<i64: 2, 2>, dtype = 7 : i64, name = "view"}, {dims = array<i64: 4>, dtype = 7 : i64, name = "again"}, {dims = array<i64>, dtype = 13 : i64, name = "input"}, {dims = array<i64: 0>, dtype = 9 : i64, name = "empty"}]

func.func private @f(%b: index, %e: index, %x: memref<4xi64>, %z: memref<4xi64>)
  attributes {krnl.kernel, krnl.outs = 1, krnl.extent = affine_map<()[s0, s1] -> (s0, 1)>} { return }

func.func @main(%a: tensor<4xi64>, %u: tensor<i64>)
    -> (tensor<2x2xi64> {onnx.name = "view"}, tensor<4xi64> {onnx.name = "again"},
        tensor<i64> {onnx.name = "input", onnx.type = tensor<ui64>},
        tensor<0xi8> {onnx.name = "empty", onnx.type = tensor<0xi1>}) {
  %c2 = arith.constant 2 : index
  %e = tensor.empty() : tensor<4xi64>
  %0 = "kernel.call"(%a, %e) {callee = @f, ins = 1, outs = 1} : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  %1 = "krnl.reshape"(%0, %c2, %c2) : (tensor<4xi64>, index, index) -> tensor<2x2xi64>
  %w = "krnl.weight"() {blob = "nothing"} : () -> tensor<0xi8>
  return %1, %0, %u, %w : tensor<2x2xi64>, tensor<4xi64>, tensor<i64>, tensor<0xi8>
}

// CHECK: func.func @main(%[[IN:.*]]: !llvm.ptr, %[[OUT:.*]]: !llvm.ptr, %[[ARENA:.*]]: !llvm.ptr, %[[RUN:.*]]: !llvm.ptr) -> i32
// CHECK: %[[UP:.*]] = llvm.getelementptr %[[IN]][152]
// CHECK: %[[U:.*]] = llvm.load %[[UP]] : !llvm.ptr -> !llvm.ptr
// CHECK: %[[O0:.*]] = llvm.call @fe_rt_output(%[[RUN]], %[[OUT]],
// CHECK: llvm.call @fe_rt_parallel
// CHECK: %[[W:.*]] = llvm.mlir.addressof @weights
// CHECK: %[[DTYPE:.*]] = llvm.getelementptr %[[OUT]][16]
// CHECK: llvm.store %{{.*}}, %[[DTYPE]] : i32
// CHECK: %[[RANK:.*]] = llvm.getelementptr %[[OUT]][20]
// CHECK: llvm.store %{{.*}}, %[[RANK]] : i32
// CHECK: %[[D0:.*]] = llvm.getelementptr %[[OUT]][24]
// CHECK: llvm.store %{{.*}}, %[[D0]] : i64
// CHECK: %[[D1:.*]] = llvm.getelementptr %[[OUT]][32]
// CHECK: llvm.store %{{.*}}, %[[D1]] : i64
// CHECK: %[[O1:.*]] = llvm.call @fe_rt_output
// CHECK-NEXT: "llvm.intr.memcpy"(%[[O1]], %[[O0]],
// CHECK: %[[O2:.*]] = llvm.call @fe_rt_output
// CHECK-NEXT: "llvm.intr.memcpy"(%[[O2]], %[[U]],
// CHECK: %[[O3:.*]] = llvm.call @fe_rt_output
// CHECK-NEXT: "llvm.intr.memcpy"(%[[O3]], %[[W]],
// CHECK: func.func @arena_size
// CHECK-NEXT: %[[C:.*]] = arith.constant 0 : i64
// CHECK: llvm.array<64 x i8>
