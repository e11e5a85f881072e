// Products by tiles of AMX, of bytes and of pairs of bf16: registers are shaped
// first and given back last, seven loads serve six products. Without whole
// steps of 64 bytes of K vectors do it.
// OPTIONS: --cpu=sapphirerapids
module {
// CHECK-LABEL: func.func private @bytes
// CHECK-SAME: krnl.algorithm = "tiles of bytes", krnl.amx
// CHECK: llvm.call_intrinsic "llvm.x86.ldtilecfg"
// CHECK-COUNT-6: llvm.call_intrinsic "llvm.x86.tilezero"
// CHECK-NOT: tilezero
// CHECK: scf.for
// CHECK: memref.prefetch
// CHECK-COUNT-7: llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK-NOT: tileloadd64
// CHECK: llvm.call_intrinsic "llvm.x86.tdpbusd"
// CHECK-COUNT-6: llvm.call_intrinsic "llvm.x86.tilestored64"
// CHECK: llvm.call_intrinsic "llvm.x86.tilerelease"
// CHECK-NEXT: return
func.func private @bytes(%a: tensor<64x32xi32>, %b: tensor<2x32x48xi32>, %d: tensor<64x96xi32>) -> tensor<64x96xi32> attributes {krnl.kernel, krnl.outs = 1 : i64, krnl.root = "integer_contract"} {
  %0 = "krnl.integer_contract"(%a, %b, %d) {dot = "bytes"} : (tensor<64x32xi32>, tensor<2x32x48xi32>, tensor<64x96xi32>) -> tensor<64x96xi32>
  return %0 : tensor<64x96xi32>
}
// CHECK-LABEL: func.func private @halves
// CHECK-SAME: krnl.algorithm = "tiles of bf16", krnl.amx
// CHECK: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
func.func private @halves(%a: tensor<20x64xbf16>, %b: tensor<2x32x96xbf16>, %d: tensor<20x96xf32>) -> tensor<20x96xf32> attributes {krnl.kernel, krnl.outs = 1 : i64, krnl.root = "contract"} {
  %0 = "krnl.contract"(%a, %b, %d) {trans_a = 0 : i64, b = "panels"} : (tensor<20x64xbf16>, tensor<2x32x96xbf16>, tensor<20x96xf32>) -> tensor<20x96xf32>
  return %0 : tensor<20x96xf32>
}
// CHECK-LABEL: func.func private @rest
// CHECK-SAME: krnl.algorithm = "dot products of four bytes"
// CHECK-NOT: tdpbusd
// CHECK: llvm.x86.avx512.vpdpbusd.512
func.func private @rest(%a: tensor<64x31xi32>, %b: tensor<2x31x48xi32>, %d: tensor<64x96xi32>) -> tensor<64x96xi32> attributes {krnl.kernel, krnl.outs = 1 : i64, krnl.root = "integer_contract"} {
  %0 = "krnl.integer_contract"(%a, %b, %d) {dot = "bytes"} : (tensor<64x31xi32>, tensor<2x31x48xi32>, tensor<64x96xi32>) -> tensor<64x96xi32>
  return %0 : tensor<64x96xi32>
}
}
