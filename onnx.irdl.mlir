// The onnx dialect, printed from the operator table.
irdl.dialect @onnx {
  irdl.type @string {
  }
  irdl.type @sequence {
    %0 = irdl.any
    irdl.parameters(element: %0)
  }
  irdl.type @optional {
    %0 = irdl.any
    irdl.parameters(element: %0)
  }
  // An operand that is absent.
  irdl.operation @none {
    %0 = irdl.is none
    irdl.results(result: %0)
  }
  // Has either `value`, dense elements, or `blob`, the name of data that
  // lies beside the module.
  irdl.operation @constant {
    %0 = irdl.base "!builtin.tensor"
    irdl.results(result: %0)
  }
  irdl.operation @relu {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @leaky_relu {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
    %2 = irdl.base "#builtin.float"
    irdl.attributes {"alpha" = %2}
  }
  irdl.operation @p_relu {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0, slope: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(y: %2)
  }
  irdl.operation @sigmoid {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @hard_sigmoid {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
    %2 = irdl.base "#builtin.float"
    %3 = irdl.base "#builtin.float"
    irdl.attributes {"alpha" = %2, "beta" = %3}
  }
  irdl.operation @hard_swish {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @tanh {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @elu {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
    %2 = irdl.base "#builtin.float"
    irdl.attributes {"alpha" = %2}
  }
  irdl.operation @selu {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
    %2 = irdl.base "#builtin.float"
    %3 = irdl.base "#builtin.float"
    irdl.attributes {"alpha" = %2, "gamma" = %3}
  }
  irdl.operation @celu {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
    %2 = irdl.base "#builtin.float"
    irdl.attributes {"alpha" = %2}
  }
  irdl.operation @softplus {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @softsign {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @thresholded_relu {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
    %2 = irdl.base "#builtin.float"
    irdl.attributes {"alpha" = %2}
  }
  irdl.operation @gelu {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
    %2 = irdl.base "#builtin.string"
    irdl.attributes {"approximate" = %2}
  }
  irdl.operation @erf {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @mish {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @swish {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
    %2 = irdl.base "#builtin.float"
    irdl.attributes {"alpha" = %2}
  }
  irdl.operation @shrink {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
    %2 = irdl.base "#builtin.float"
    %3 = irdl.base "#builtin.float"
    irdl.attributes {"bias" = %2, "lambd" = %3}
  }
  irdl.operation @add {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(a: %0, b: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(c: %2)
  }
  irdl.operation @sub {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(a: %0, b: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(c: %2)
  }
  irdl.operation @mul {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(a: %0, b: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(c: %2)
  }
  irdl.operation @div {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(a: %0, b: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(c: %2)
  }
  irdl.operation @mod {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(a: %0, b: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(c: %2)
    %3 = irdl.base "#builtin.integer"
    irdl.attributes {"fmod" = %3}
  }
  irdl.operation @pow {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0, y: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(z: %2)
  }
  irdl.operation @neg {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @abs {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @sqrt {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @exp {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @log {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @reciprocal {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @floor {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @ceil {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @round {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @sign {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @shape {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(data: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(shape: %1)
    %2 = irdl.base "#builtin.integer"
    %3 = irdl.base "#builtin.integer"
    irdl.attributes {"start" = %2, "end" = %3}
  }
  irdl.operation @size {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(data: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(size: %1)
  }
  irdl.operation @reshape {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(data: %0, shape: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(reshaped: %2)
    %3 = irdl.base "#builtin.integer"
    irdl.attributes {"allowzero" = %3}
  }
  irdl.operation @flatten {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(input: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(output: %1)
    %2 = irdl.base "#builtin.integer"
    irdl.attributes {"axis" = %2}
  }
  irdl.operation @squeeze {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.is none
    %3 = irdl.any_of(%1, %2)
    irdl.operands(data: %0, axes: %3)
    %4 = irdl.base "!builtin.tensor"
    irdl.results(squeezed: %4)
  }
  irdl.operation @unsqueeze {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(data: %0, axes: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(expanded: %2)
  }
}
