// The krnl dialect: what heavy families lower to. See docs/architecture.md.
// IRDL has neither optional attributes nor traits: every attribute named here
// must be present; purity is ours to know. A constraint variable stands for one
// type per op, variadic operands included: give each operand its own variable.
irdl.dialect @krnl {
  // A constant tensor; its bytes are the blob of that name.
  irdl.operation @weight {
    %tensor = irdl.base "!builtin.tensor"
    %string = irdl.base "#builtin.string"
    irdl.results(result: %tensor)
    irdl.attributes {"blob" = %string}
  }

  // The same elements under another shape: tensor, then one index per dim of
  // the result. Their product is the number of elements.
  irdl.operation @reshape {
    %tensor = irdl.base "!builtin.tensor"
    %other = irdl.base "!builtin.tensor"
    %index = irdl.is index
    irdl.operands(tensor: %tensor, sizes: variadic %index)
    irdl.results(result: %other)
  }

  // The run ends with an error, whose text is `message`, unless %condition.
  irdl.operation @check {
    %i1 = irdl.is i1
    %string = irdl.base "#builtin.string"
    irdl.operands(condition: %i1)
    irdl.attributes {"message" = %string}
  }
}
