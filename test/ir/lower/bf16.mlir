// With --precision=bf16 two products of the same operand round it once; the
// weights are panels of pairs, the sums f32. A product of few columns is not
// rounded.
// OPTIONS: --precision=bf16 --cpu=x86-64-v4-bf16
module {
// CHECK-LABEL: func.func @main
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK-NOT: truncf
// CHECK: "krnl.contract"(%[[A:.*]], %{{.*}}, %{{.*}}) {{.*}} : (tensor<32x64xbf16>, tensor<3x32x96xbf16>, tensor<32x100xf32>) -> tensor<32x100xf32>
// CHECK-NOT: truncf
// CHECK: "krnl.contract"(%[[A]], %{{.*}}, %{{.*}}) {{.*}} : (tensor<32x64xbf16>, tensor<1x32x64xbf16>, tensor<32x20xf32>) -> tensor<32x20xf32>
// CHECK: "krnl.contract"(%arg0, %{{.*}}, %{{.*}}) {{.*}} : (tensor<32x64xf32>, tensor<1x64x16xf32>, tensor<32x3xf32>) -> tensor<32x3xf32>
func.func @main(%x: tensor<32x64xf32>) -> (tensor<32x100xf32>, tensor<32x20xf32>, tensor<32x3xf32>) {
  %a = "onnx.constant"() {value = dense<0.5> : tensor<64x100xf32>} : () -> tensor<64x100xf32>
  %b = "onnx.constant"() {value = dense<0.5> : tensor<64x20xf32>} : () -> tensor<64x20xf32>
  %c = "onnx.constant"() {value = dense<0.5> : tensor<64x3xf32>} : () -> tensor<64x3xf32>
  %0 = "onnx.mat_mul"(%x, %a) : (tensor<32x64xf32>, tensor<64x100xf32>) -> tensor<32x100xf32>
  %1 = "onnx.mat_mul"(%x, %b) : (tensor<32x64xf32>, tensor<64x20xf32>) -> tensor<32x20xf32>
  %2 = "onnx.mat_mul"(%x, %c) : (tensor<32x64xf32>, tensor<64x3xf32>) -> tensor<32x3xf32>
  return %0, %1, %2 : tensor<32x100xf32>, tensor<32x20xf32>, tensor<32x3xf32>
}
}
