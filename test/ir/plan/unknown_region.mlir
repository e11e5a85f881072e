// FAILS
// CHECK: internal error: 'here': main has an operation that plan does not know
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = scf.execute_region -> tensor<4xf32> {
    scf.yield %x : tensor<4xf32>
  } loc("here")
  return %0 : tensor<4xf32>
}
