// A planned model (docs/architecture.md): y = tanh(x * w + b), batch dynamic,
// 8 inputs, 16 outputs; written by hand. The weights are blobs "w" and "b".
module attributes {
  krnl.blobs = [["w", 0 : i64], ["b", 512 : i64]],
  krnl.weight_bytes = 576 : i64,
  krnl.symbols = ["batch"],
  krnl.inputs = [{name = "x", dtype = 1 : i64, dims = array<i64: -1, 8>}],
  krnl.outputs = [{name = "y", dtype = 1 : i64, dims = array<i64: -1, 16>}]
} {
  llvm.mlir.global external constant @weights() {addr_space = 0 : i32, alignment = 64 : i64} : !llvm.array<576 x i8>
  llvm.func @fe_rt_parallel(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, i64)
  llvm.func @fe_rt_output(!llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr
  llvm.func @matmul.part(!llvm.ptr, i64, i64)
  llvm.func @act.part(!llvm.ptr, i64, i64)

  func.func private @matmul(%begin: index, %end: index, %x: memref<?x8xf32>, %w: memref<8x16xf32>, %y: memref<?x16xf32>)
      attributes {krnl.kernel, krnl.outs = 1 : i64, krnl.extent = affine_map<()[s0, s1, s2, s3, s4, s5] -> (s0, 256)>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %zero = arith.constant 0.0 : f32
    scf.for %i = %begin to %end step %c1 {
      scf.for %j = %c0 to %c16 step %c1 {
        %s = scf.for %k = %c0 to %c8 step %c1 iter_args(%a = %zero) -> f32 {
          %p = memref.load %x[%i, %k] : memref<?x8xf32>
          %q = memref.load %w[%k, %j] : memref<8x16xf32>
          %m = arith.mulf %p, %q fastmath<contract> : f32
          %n = arith.addf %a, %m fastmath<contract> : f32
          scf.yield %n : f32
        }
        memref.store %s, %y[%i, %j] : memref<?x16xf32>
      }
    }
    return
  }
  func.func private @act(%begin: index, %end: index, %x: memref<?x16xf32>, %b: memref<16xf32>, %y: memref<?x16xf32>)
      attributes {krnl.kernel, krnl.outs = 1 : i64, krnl.extent = affine_map<()[s0, s1, s2, s3, s4] -> (s0, 256)>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    scf.for %i = %begin to %end step %c1 {
      scf.for %j = %c0 to %c16 step %c1 {
        %p = memref.load %x[%i, %j] : memref<?x16xf32>
        %q = memref.load %b[%j] : memref<16xf32>
        %s = arith.addf %p, %q fastmath<contract> : f32
        %t = math.tanh %s : f32
        memref.store %t, %y[%i, %j] : memref<?x16xf32>
      }
    }
    return
  }

  func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr, %arena: !llvm.ptr, %run: !llvm.ptr) -> i32 {
    %one = llvm.mlir.constant(1 : i64) : i64
    %eight = llvm.mlir.constant(8 : i64) : i64
    %cost = llvm.mlir.constant(100000 : i64) : i64
    %x = llvm.load %inputs : !llvm.ptr -> !llvm.ptr
    %px = llvm.getelementptr %inputs[24] : (!llvm.ptr) -> !llvm.ptr, i8
    %n = llvm.load %px : !llvm.ptr -> i64
    %ni = builtin.unrealized_conversion_cast %n : i64 to index
    %limit = arith.constant 1000 : index
    %small = arith.cmpi sle, %ni, %limit : index
    "krnl.check"(%small) {message = "more than 1000 rows"} : (i1) -> ()
    %c64 = arith.constant 64 : index
    %bytes = arith.muli %ni, %c64 : index
    %bytes64 = arith.index_cast %bytes : index to i64
    %y = llvm.call @fe_rt_output(%run, %outputs, %bytes64) : (!llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr
    %pr = llvm.getelementptr %outputs[16] : (!llvm.ptr) -> !llvm.ptr, i8
    %f32 = llvm.mlir.constant(1 : i32) : i32
    %rank = llvm.mlir.constant(2 : i32) : i32
    llvm.store %f32, %pr : i32, !llvm.ptr
    %pr1 = llvm.getelementptr %outputs[20] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %rank, %pr1 : i32, !llvm.ptr
    %pd0 = llvm.getelementptr %outputs[24] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %n, %pd0 : i64, !llvm.ptr
    %pd1 = llvm.getelementptr %outputs[32] : (!llvm.ptr) -> !llvm.ptr, i8
    %i16 = llvm.mlir.constant(16 : i64) : i64
    llvm.store %i16, %pd1 : i64, !llvm.ptr
    %w = llvm.mlir.addressof @weights : !llvm.ptr
    %b = llvm.getelementptr %w[512] : (!llvm.ptr) -> !llvm.ptr, i8
    %slots = llvm.alloca %eight x i64 : (i64) -> !llvm.ptr
    llvm.store %x, %slots : !llvm.ptr, !llvm.ptr
    %s1 = llvm.getelementptr %slots[1] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %n, %s1 : i64, !llvm.ptr
    %s2 = llvm.getelementptr %slots[2] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %w, %s2 : !llvm.ptr, !llvm.ptr
    %s3 = llvm.getelementptr %slots[3] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %arena, %s3 : !llvm.ptr, !llvm.ptr
    %s4 = llvm.getelementptr %slots[4] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %n, %s4 : i64, !llvm.ptr
    %f = llvm.mlir.addressof @matmul.part : !llvm.ptr
    llvm.call @fe_rt_parallel(%run, %f, %slots, %n, %cost, %cost) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, i64) -> ()
    llvm.store %arena, %slots : !llvm.ptr, !llvm.ptr
    llvm.store %b, %s2 : !llvm.ptr, !llvm.ptr
    llvm.store %y, %s3 : !llvm.ptr, !llvm.ptr
    %g = llvm.mlir.addressof @act.part : !llvm.ptr
    llvm.call @fe_rt_parallel(%run, %g, %slots, %n, %cost, %cost) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, i64) -> ()
    %ok = arith.constant 0 : i32
    return %ok : i32
  }
  func.func @arena_size(%symbols: !llvm.ptr) -> i64 {
    %n = llvm.load %symbols : !llvm.ptr -> i64
    %c = llvm.mlir.constant(64 : i64) : i64
    %m = llvm.mul %n, %c : i64
    return %m : i64
  }
}
