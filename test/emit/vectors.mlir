// Math functions of the library on vectors, one row of the input each; written
// by hand. out[f][i] = f(x[i]).
module attributes {
  krnl.weight_bytes = 0 : i64,
  krnl.inputs = [{name = "x", dtype = 1 : i64, dims = array<i64: 64>}],
  krnl.outputs = [{name = "y", dtype = 1 : i64, dims = array<i64: 10, 64>}]
} {
  llvm.func @fe_rt_parallel(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, i64)
  llvm.func @fe_rt_output(!llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr
  llvm.func @functions.part(!llvm.ptr, i64, i64)
  func.func private @functions(%begin: index, %end: index, %x: memref<64xf32>, %y: memref<10x64xf32>)
      attributes {krnl.kernel, krnl.outs = 1 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c5 = arith.constant 5 : index
    %c6 = arith.constant 6 : index
    %c7 = arith.constant 7 : index
    %c8 = arith.constant 8 : index
    %c9 = arith.constant 9 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    %p = arith.constant dense<1.7> : vector<16xf32>
    scf.for %i = %c0 to %c64 step %c16 {
      %v = vector.load %x[%i] : memref<64xf32>, vector<16xf32>
      %a = math.absf %v : vector<16xf32>
      %0 = math.exp %v : vector<16xf32>
      %1 = math.tanh %v : vector<16xf32>
      %2 = math.erf %v : vector<16xf32>
      %3 = math.expm1 %v : vector<16xf32>
      %4 = math.log1p %a : vector<16xf32>
      %5 = math.log %a : vector<16xf32>
      %6 = math.powf %a, %p : vector<16xf32>
      %7 = math.sin %v : vector<16xf32>
      %8 = math.cos %v : vector<16xf32>
      %9 = math.tan %v : vector<16xf32>
      vector.store %0, %y[%c0, %i] : memref<10x64xf32>, vector<16xf32>
      vector.store %1, %y[%c1, %i] : memref<10x64xf32>, vector<16xf32>
      vector.store %2, %y[%c2, %i] : memref<10x64xf32>, vector<16xf32>
      vector.store %3, %y[%c3, %i] : memref<10x64xf32>, vector<16xf32>
      vector.store %4, %y[%c4, %i] : memref<10x64xf32>, vector<16xf32>
      vector.store %5, %y[%c5, %i] : memref<10x64xf32>, vector<16xf32>
      vector.store %6, %y[%c6, %i] : memref<10x64xf32>, vector<16xf32>
      vector.store %7, %y[%c7, %i] : memref<10x64xf32>, vector<16xf32>
      vector.store %8, %y[%c8, %i] : memref<10x64xf32>, vector<16xf32>
      vector.store %9, %y[%c9, %i] : memref<10x64xf32>, vector<16xf32>
    }
    return
  }
  func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr, %arena: !llvm.ptr, %run: !llvm.ptr) -> i32 {
    %one = llvm.mlir.constant(1 : i64) : i64
    %two = llvm.mlir.constant(2 : i64) : i64
    %bytes = llvm.mlir.constant(2560 : i64) : i64
    %x = llvm.load %inputs : !llvm.ptr -> !llvm.ptr
    %y = llvm.call @fe_rt_output(%run, %outputs, %bytes) : (!llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr
    %slots = llvm.alloca %two x i64 : (i64) -> !llvm.ptr
    llvm.store %x, %slots : !llvm.ptr, !llvm.ptr
    %s1 = llvm.getelementptr %slots[1] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %y, %s1 : !llvm.ptr, !llvm.ptr
    %f = llvm.mlir.addressof @functions.part : !llvm.ptr
    llvm.call @fe_rt_parallel(%run, %f, %slots, %one, %one, %one) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, i64) -> ()
    %ok = arith.constant 0 : i32
    return %ok : i32
  }
  func.func @arena_size(%symbols: !llvm.ptr) -> i64 {
    %m = llvm.mlir.constant(0 : i64) : i64
    return %m : i64
  }
}
