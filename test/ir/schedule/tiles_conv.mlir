// A convolution of bytes by tiles of AMX: 64 channels of a pixel side by side in
// scratch memory first, then panels of 32 channels, two tiles of pixels by two
// of channels; stride 2 makes a tile's rows 128 bytes apart.
// OPTIONS: --cpu=sapphirerapids
module {
// CHECK-LABEL: func.func private @conv
// CHECK-SAME: krnl.algorithm = "tiles of bytes", krnl.amx
// CHECK: llvm.call_intrinsic "llvm.x86.ldtilecfg"
// CHECK: vector.shuffle {{.*}} : vector<32xi8>, vector<32xi8>
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tilezero"
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK: llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.tdpbusd"
// CHECK: llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.tdpbusd"
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tilestored64"
// CHECK: llvm.call_intrinsic "llvm.x86.tilerelease"
// CHECK-NEXT: return
func.func private @conv(%x: tensor<1x4x30x30x16xi8>, %w: tensor<9216xi32>, %b: tensor<4x16xi32>, %d: tensor<1x4x14x14x16xi32>) -> tensor<1x4x14x14x16xi32> attributes {krnl.kernel, krnl.outs = 1 : i64, krnl.root = "conv_tiles"} {
  %0 = "krnl.conv_tiles"(%x, %w, %b, %d) {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, channels = 64 : i64, signed = 0 : i64} : (tensor<1x4x30x30x16xi8>, tensor<9216xi32>, tensor<4x16xi32>, tensor<1x4x14x14x16xi32>) -> tensor<1x4x14x14x16xi32>
  return %0 : tensor<1x4x14x14x16xi32>
}
}
