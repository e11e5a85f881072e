// The onnx dialect, printed from the operator table.
irdl.dialect @onnx {
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
  irdl.operation @attention {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.base "!builtin.tensor"
    %4 = irdl.is none
    %5 = irdl.any_of(%3, %4)
    %6 = irdl.base "!builtin.tensor"
    %7 = irdl.is none
    %8 = irdl.any_of(%6, %7)
    %9 = irdl.base "!builtin.tensor"
    %10 = irdl.is none
    %11 = irdl.any_of(%9, %10)
    %12 = irdl.base "!builtin.tensor"
    %13 = irdl.is none
    %14 = irdl.any_of(%12, %13)
    irdl.operands(q: %0, k: %1, v: %2, attn_mask: %5, past_key: %8, past_value: %11, nonpad_kv_seqlen: %14)
    %15 = irdl.base "!builtin.tensor"
    %16 = irdl.base "!builtin.tensor"
    %17 = irdl.base "!builtin.tensor"
    %18 = irdl.base "!builtin.tensor"
    irdl.results(y: %15, present_key: %16, present_value: %17, qk_matmul_output: %18)
    %19 = irdl.base "#builtin.integer"
    %20 = irdl.base "#builtin.integer"
    %21 = irdl.base "#builtin.integer"
    %22 = irdl.base "#builtin.integer"
    %23 = irdl.base "#builtin.integer"
    %24 = irdl.base "#builtin.integer"
    %25 = irdl.base "#builtin.float"
    %26 = irdl.base "#builtin.float"
    %27 = irdl.base "#builtin.integer"
    irdl.attributes {"is_causal" = %19, "kv_num_heads" = %20, "left_window_size" = %21, "q_num_heads" = %22, "qk_matmul_output_mode" = %23, "right_window_size" = %24, "scale" = %25, "softcap" = %26, "softmax_precision" = %27}
  }
  irdl.operation @batch_normalization {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.base "!builtin.tensor"
    %4 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0, scale: %1, b: %2, input_mean: %3, input_var: %4)
    %5 = irdl.base "!builtin.tensor"
    %6 = irdl.base "!builtin.tensor"
    %7 = irdl.base "!builtin.tensor"
    irdl.results(y: %5, running_mean: %6, running_var: %7)
    %8 = irdl.base "#builtin.float"
    %9 = irdl.base "#builtin.float"
    %10 = irdl.base "#builtin.integer"
    %11 = irdl.base "#builtin.integer"
    irdl.attributes {"epsilon" = %8, "momentum" = %9, "training_mode" = %10, "spatial" = %11}
  }
  irdl.operation @cast {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(input: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(output: %1)
    %2 = irdl.base "#builtin.integer"
    %3 = irdl.base "#builtin.integer"
    %4 = irdl.base "#builtin.string"
    irdl.attributes {"to" = %2, "saturate" = %3, "round_mode" = %4}
  }
  irdl.operation @concat {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.base "!builtin.tensor"
    %4 = irdl.base "!builtin.tensor"
    %5 = irdl.base "!builtin.tensor"
    %6 = irdl.base "!builtin.tensor"
    %7 = irdl.base "!builtin.tensor"
    %8 = irdl.base "!builtin.tensor"
    %9 = irdl.base "!builtin.tensor"
    %10 = irdl.base "!builtin.tensor"
    %11 = irdl.base "!builtin.tensor"
    %12 = irdl.base "!builtin.tensor"
    %13 = irdl.base "!builtin.tensor"
    %14 = irdl.base "!builtin.tensor"
    %15 = irdl.base "!builtin.tensor"
    %16 = irdl.base "!builtin.tensor"
    %17 = irdl.base "!builtin.tensor"
    %18 = irdl.base "!builtin.tensor"
    %19 = irdl.base "!builtin.tensor"
    %20 = irdl.base "!builtin.tensor"
    %21 = irdl.base "!builtin.tensor"
    %22 = irdl.base "!builtin.tensor"
    %23 = irdl.base "!builtin.tensor"
    %24 = irdl.base "!builtin.tensor"
    %25 = irdl.base "!builtin.tensor"
    %26 = irdl.base "!builtin.tensor"
    %27 = irdl.base "!builtin.tensor"
    %28 = irdl.base "!builtin.tensor"
    %29 = irdl.base "!builtin.tensor"
    %30 = irdl.base "!builtin.tensor"
    %31 = irdl.base "!builtin.tensor"
    irdl.operands(inputs_0: optional %0, inputs_1: optional %1, inputs_2: optional %2, inputs_3: optional %3, inputs_4: optional %4, inputs_5: optional %5, inputs_6: optional %6, inputs_7: optional %7, inputs_8: optional %8, inputs_9: optional %9, inputs_10: optional %10, inputs_11: optional %11, inputs_12: optional %12, inputs_13: optional %13, inputs_14: optional %14, inputs_15: optional %15, inputs_16: optional %16, inputs_17: optional %17, inputs_18: optional %18, inputs_19: optional %19, inputs_20: optional %20, inputs_21: optional %21, inputs_22: optional %22, inputs_23: optional %23, inputs_24: optional %24, inputs_25: optional %25, inputs_26: optional %26, inputs_27: optional %27, inputs_28: optional %28, inputs_29: optional %29, inputs_30: optional %30, inputs_31: optional %31)
    %32 = irdl.base "!builtin.tensor"
    irdl.results(concat_result: %32)
    %33 = irdl.base "#builtin.integer"
    irdl.attributes {"axis" = %33}
  }
  irdl.operation @ms_cache_append {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.is none
    %2 = irdl.any_of(%0, %1)
    %3 = irdl.base "!builtin.tensor"
    %4 = irdl.base "!builtin.tensor"
    %5 = irdl.base "!builtin.tensor"
    %6 = irdl.base "!builtin.tensor"
    irdl.operands(past: %2, rows: %3, starts: %4, counts: %5, length: %6)
    %7 = irdl.base "!builtin.tensor"
    irdl.results(present: %7)
    %8 = irdl.base "#builtin.integer"
    %9 = irdl.base "#builtin.integer"
    irdl.attributes {"heads" = %8, "whole" = %9}
  }
  irdl.operation @ms_crop_and_resize {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0, rois: %1, batch_indices: %2, crop_size: %3)
    %4 = irdl.base "!builtin.tensor"
    irdl.results(y: %4)
    %5 = irdl.base "#builtin.float"
    %6 = irdl.base "#builtin.string"
    irdl.attributes {"extrapolation_value" = %5, "mode" = %6}
  }
  irdl.operation @ms_inverse {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @ms_n_gram_repeat_block {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(input_ids: %0, scores: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(scores_out: %2)
    %3 = irdl.base "#builtin.integer"
    irdl.attributes {"ngram_size" = %3}
  }
  irdl.operation @ms_murmur_hash3 {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
    %2 = irdl.base "#builtin.integer"
    %3 = irdl.base "#builtin.integer"
    irdl.attributes {"positive" = %2, "seed" = %3}
  }
  irdl.operation @ms_murmur_hash_text {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
    %2 = irdl.base "#builtin.integer"
    %3 = irdl.base "#builtin.integer"
    irdl.attributes {"positive" = %2, "seed" = %3}
  }
  irdl.operation @ms_q_linear_add {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.is none
    %4 = irdl.any_of(%2, %3)
    %5 = irdl.base "!builtin.tensor"
    %6 = irdl.base "!builtin.tensor"
    %7 = irdl.base "!builtin.tensor"
    %8 = irdl.is none
    %9 = irdl.any_of(%7, %8)
    %10 = irdl.base "!builtin.tensor"
    %11 = irdl.base "!builtin.tensor"
    %12 = irdl.is none
    %13 = irdl.any_of(%11, %12)
    irdl.operands(a: %0, a_scale: %1, a_zero_point: %4, b: %5, b_scale: %6, b_zero_point: %9, c_scale: %10, c_zero_point: %13)
    %14 = irdl.base "!builtin.tensor"
    irdl.results(c: %14)
  }
  irdl.operation @ms_q_linear_mul {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.is none
    %4 = irdl.any_of(%2, %3)
    %5 = irdl.base "!builtin.tensor"
    %6 = irdl.base "!builtin.tensor"
    %7 = irdl.base "!builtin.tensor"
    %8 = irdl.is none
    %9 = irdl.any_of(%7, %8)
    %10 = irdl.base "!builtin.tensor"
    %11 = irdl.base "!builtin.tensor"
    %12 = irdl.is none
    %13 = irdl.any_of(%11, %12)
    irdl.operands(a: %0, a_scale: %1, a_zero_point: %4, b: %5, b_scale: %6, b_zero_point: %9, c_scale: %10, c_zero_point: %13)
    %14 = irdl.base "!builtin.tensor"
    irdl.results(c: %14)
  }
  irdl.operation @ms_q_linear_leaky_relu {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.is none
    %4 = irdl.any_of(%2, %3)
    %5 = irdl.base "!builtin.tensor"
    %6 = irdl.base "!builtin.tensor"
    %7 = irdl.is none
    %8 = irdl.any_of(%6, %7)
    irdl.operands(x: %0, x_scale: %1, x_zero_point: %4, y_scale: %5, y_zero_point: %8)
    %9 = irdl.base "!builtin.tensor"
    irdl.results(y: %9)
    %10 = irdl.base "#builtin.float"
    irdl.attributes {"alpha" = %10}
  }
  irdl.operation @ms_q_linear_sigmoid {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.is none
    %4 = irdl.any_of(%2, %3)
    %5 = irdl.base "!builtin.tensor"
    %6 = irdl.base "!builtin.tensor"
    %7 = irdl.is none
    %8 = irdl.any_of(%6, %7)
    irdl.operands(x: %0, x_scale: %1, x_zero_point: %4, y_scale: %5, y_zero_point: %8)
    %9 = irdl.base "!builtin.tensor"
    irdl.results(y: %9)
  }
  irdl.operation @ms_rescale {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.is none
    %4 = irdl.any_of(%2, %3)
    %5 = irdl.base "!builtin.tensor"
    %6 = irdl.base "!builtin.tensor"
    %7 = irdl.is none
    %8 = irdl.any_of(%6, %7)
    irdl.operands(x: %0, x_scale: %1, x_zero_point: %4, y_scale: %5, y_zero_point: %8)
    %9 = irdl.base "!builtin.tensor"
    irdl.results(y: %9)
  }
  irdl.operation @ms_requantize {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    irdl.operands(sum: %0, factor: %1, zero_point: %2)
    %3 = irdl.base "!builtin.tensor"
    irdl.results(y: %3)
  }
  irdl.operation @ms_quantize_shifted {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0, scale: %1, zero_point: %2)
    %3 = irdl.base "!builtin.tensor"
    irdl.results(y: %3)
  }
  irdl.operation @conv {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.is none
    %4 = irdl.any_of(%2, %3)
    irdl.operands(x: %0, w: %1, b: %4)
    %5 = irdl.base "!builtin.tensor"
    irdl.results(y: %5)
    %6 = irdl.base "#builtin.string"
    %7 = irdl.base "#builtin.dense_array"
    %8 = irdl.base "#builtin.integer"
    %9 = irdl.base "#builtin.dense_array"
    %10 = irdl.base "#builtin.dense_array"
    %11 = irdl.base "#builtin.dense_array"
    irdl.attributes {"auto_pad" = %6, "dilations" = %7, "group" = %8, "kernel_shape" = %9, "pads" = %10, "strides" = %11}
  }
  irdl.operation @conv_integer {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.is none
    %4 = irdl.any_of(%2, %3)
    %5 = irdl.base "!builtin.tensor"
    %6 = irdl.is none
    %7 = irdl.any_of(%5, %6)
    irdl.operands(x: %0, w: %1, x_zero_point: %4, w_zero_point: %7)
    %8 = irdl.base "!builtin.tensor"
    irdl.results(y: %8)
    %9 = irdl.base "#builtin.string"
    %10 = irdl.base "#builtin.dense_array"
    %11 = irdl.base "#builtin.integer"
    %12 = irdl.base "#builtin.dense_array"
    %13 = irdl.base "#builtin.dense_array"
    %14 = irdl.base "#builtin.dense_array"
    irdl.attributes {"auto_pad" = %9, "dilations" = %10, "group" = %11, "kernel_shape" = %12, "pads" = %13, "strides" = %14}
  }
  irdl.operation @q_linear_conv {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.base "!builtin.tensor"
    %4 = irdl.base "!builtin.tensor"
    %5 = irdl.base "!builtin.tensor"
    %6 = irdl.base "!builtin.tensor"
    %7 = irdl.base "!builtin.tensor"
    %8 = irdl.base "!builtin.tensor"
    %9 = irdl.is none
    %10 = irdl.any_of(%8, %9)
    irdl.operands(x: %0, x_scale: %1, x_zero_point: %2, w: %3, w_scale: %4, w_zero_point: %5, y_scale: %6, y_zero_point: %7, b: %10)
    %11 = irdl.base "!builtin.tensor"
    irdl.results(y: %11)
    %12 = irdl.base "#builtin.string"
    %13 = irdl.base "#builtin.dense_array"
    %14 = irdl.base "#builtin.integer"
    %15 = irdl.base "#builtin.dense_array"
    %16 = irdl.base "#builtin.dense_array"
    %17 = irdl.base "#builtin.dense_array"
    irdl.attributes {"auto_pad" = %12, "dilations" = %13, "group" = %14, "kernel_shape" = %15, "pads" = %16, "strides" = %17}
  }
  irdl.operation @conv_transpose {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.is none
    %4 = irdl.any_of(%2, %3)
    irdl.operands(x: %0, w: %1, b: %4)
    %5 = irdl.base "!builtin.tensor"
    irdl.results(y: %5)
    %6 = irdl.base "#builtin.string"
    %7 = irdl.base "#builtin.dense_array"
    %8 = irdl.base "#builtin.integer"
    %9 = irdl.base "#builtin.dense_array"
    %10 = irdl.base "#builtin.dense_array"
    %11 = irdl.base "#builtin.dense_array"
    %12 = irdl.base "#builtin.dense_array"
    %13 = irdl.base "#builtin.dense_array"
    irdl.attributes {"auto_pad" = %6, "dilations" = %7, "group" = %8, "kernel_shape" = %9, "output_padding" = %10, "output_shape" = %11, "pads" = %12, "strides" = %13}
  }
  irdl.operation @deform_conv {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.base "!builtin.tensor"
    %4 = irdl.is none
    %5 = irdl.any_of(%3, %4)
    %6 = irdl.base "!builtin.tensor"
    %7 = irdl.is none
    %8 = irdl.any_of(%6, %7)
    irdl.operands(x: %0, w: %1, offset: %2, b: %5, mask: %8)
    %9 = irdl.base "!builtin.tensor"
    irdl.results(y: %9)
    %10 = irdl.base "#builtin.string"
    %11 = irdl.base "#builtin.dense_array"
    %12 = irdl.base "#builtin.integer"
    %13 = irdl.base "#builtin.dense_array"
    %14 = irdl.base "#builtin.integer"
    %15 = irdl.base "#builtin.dense_array"
    %16 = irdl.base "#builtin.dense_array"
    irdl.attributes {"auto_pad" = %10, "dilations" = %11, "group" = %12, "kernel_shape" = %13, "offset_group" = %14, "pads" = %15, "strides" = %16}
  }
  irdl.operation @einsum {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.base "!builtin.tensor"
    %4 = irdl.base "!builtin.tensor"
    %5 = irdl.base "!builtin.tensor"
    %6 = irdl.base "!builtin.tensor"
    %7 = irdl.base "!builtin.tensor"
    %8 = irdl.base "!builtin.tensor"
    %9 = irdl.base "!builtin.tensor"
    %10 = irdl.base "!builtin.tensor"
    %11 = irdl.base "!builtin.tensor"
    %12 = irdl.base "!builtin.tensor"
    %13 = irdl.base "!builtin.tensor"
    %14 = irdl.base "!builtin.tensor"
    %15 = irdl.base "!builtin.tensor"
    %16 = irdl.base "!builtin.tensor"
    %17 = irdl.base "!builtin.tensor"
    %18 = irdl.base "!builtin.tensor"
    %19 = irdl.base "!builtin.tensor"
    %20 = irdl.base "!builtin.tensor"
    %21 = irdl.base "!builtin.tensor"
    %22 = irdl.base "!builtin.tensor"
    %23 = irdl.base "!builtin.tensor"
    %24 = irdl.base "!builtin.tensor"
    %25 = irdl.base "!builtin.tensor"
    %26 = irdl.base "!builtin.tensor"
    %27 = irdl.base "!builtin.tensor"
    %28 = irdl.base "!builtin.tensor"
    %29 = irdl.base "!builtin.tensor"
    %30 = irdl.base "!builtin.tensor"
    %31 = irdl.base "!builtin.tensor"
    irdl.operands(inputs_0: optional %0, inputs_1: optional %1, inputs_2: optional %2, inputs_3: optional %3, inputs_4: optional %4, inputs_5: optional %5, inputs_6: optional %6, inputs_7: optional %7, inputs_8: optional %8, inputs_9: optional %9, inputs_10: optional %10, inputs_11: optional %11, inputs_12: optional %12, inputs_13: optional %13, inputs_14: optional %14, inputs_15: optional %15, inputs_16: optional %16, inputs_17: optional %17, inputs_18: optional %18, inputs_19: optional %19, inputs_20: optional %20, inputs_21: optional %21, inputs_22: optional %22, inputs_23: optional %23, inputs_24: optional %24, inputs_25: optional %25, inputs_26: optional %26, inputs_27: optional %27, inputs_28: optional %28, inputs_29: optional %29, inputs_30: optional %30, inputs_31: optional %31)
    %32 = irdl.base "!builtin.tensor"
    irdl.results(output: %32)
    %33 = irdl.base "#builtin.string"
    irdl.attributes {"equation" = %33}
  }
  irdl.operation @expand {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(input: %0, shape: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(output: %2)
  }
  irdl.operation @tile {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(input: %0, repeats: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(output: %2)
  }
  irdl.operation @range {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    irdl.operands(start: %0, limit: %1, delta: %2)
    %3 = irdl.base "!builtin.tensor"
    irdl.results(output: %3)
    %4 = irdl.base "#builtin.integer"
    irdl.attributes {"stash_type" = %4}
  }
  irdl.operation @max {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(data_0: %0, data_1: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(result: %2)
  }
  irdl.operation @min {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(data_0: %0, data_1: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(result: %2)
  }
  irdl.operation @clip {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.is none
    %3 = irdl.any_of(%1, %2)
    %4 = irdl.base "!builtin.tensor"
    %5 = irdl.is none
    %6 = irdl.any_of(%4, %5)
    irdl.operands(input: %0, min: %3, max: %6)
    %7 = irdl.base "!builtin.tensor"
    irdl.results(output: %7)
  }
  irdl.operation @dft {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.is none
    %3 = irdl.any_of(%1, %2)
    %4 = irdl.base "!builtin.tensor"
    %5 = irdl.is none
    %6 = irdl.any_of(%4, %5)
    irdl.operands(input: %0, dft_length: %3, axis: %6)
    %7 = irdl.base "!builtin.tensor"
    irdl.results(output: %7)
    %8 = irdl.base "#builtin.integer"
    %9 = irdl.base "#builtin.integer"
    irdl.attributes {"inverse" = %8, "onesided" = %9}
  }
  irdl.operation @stft {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.is none
    %4 = irdl.any_of(%2, %3)
    %5 = irdl.base "!builtin.tensor"
    %6 = irdl.is none
    %7 = irdl.any_of(%5, %6)
    irdl.operands(signal: %0, frame_step: %1, window: %4, frame_length: %7)
    %8 = irdl.base "!builtin.tensor"
    irdl.results(output: %8)
    %9 = irdl.base "#builtin.integer"
    irdl.attributes {"onesided" = %9}
  }
  irdl.operation @gather {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(data: %0, indices: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(output: %2)
    %3 = irdl.base "#builtin.integer"
    irdl.attributes {"axis" = %3}
  }
  irdl.operation @gather_elements {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(data: %0, indices: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(output: %2)
    %3 = irdl.base "#builtin.integer"
    irdl.attributes {"axis" = %3}
  }
  irdl.operation @gather_nd {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(data: %0, indices: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(output: %2)
    %3 = irdl.base "#builtin.integer"
    irdl.attributes {"batch_dims" = %3}
  }
  irdl.operation @global_average_pool {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @global_max_pool {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @global_lp_pool {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
    %2 = irdl.base "#builtin.integer"
    irdl.attributes {"p" = %2}
  }
  irdl.operation @grid_sample {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0, grid: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(y: %2)
    %3 = irdl.base "#builtin.integer"
    %4 = irdl.base "#builtin.string"
    %5 = irdl.base "#builtin.string"
    irdl.attributes {"align_corners" = %3, "mode" = %4, "padding_mode" = %5}
  }
  irdl.operation @affine_grid {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(theta: %0, size: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(grid: %2)
    %3 = irdl.base "#builtin.integer"
    irdl.attributes {"align_corners" = %3}
  }
  irdl.operation @image_decoder {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(encoded_stream: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(image: %1)
    %2 = irdl.base "#builtin.string"
    irdl.attributes {"pixel_format" = %2}
  }
  irdl.operation @instance_normalization {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    irdl.operands(input: %0, scale: %1, b: %2)
    %3 = irdl.base "!builtin.tensor"
    irdl.results(output: %3)
    %4 = irdl.base "#builtin.float"
    irdl.attributes {"epsilon" = %4}
  }
  irdl.operation @group_normalization {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0, scale: %1, bias: %2)
    %3 = irdl.base "!builtin.tensor"
    irdl.results(y: %3)
    %4 = irdl.base "#builtin.float"
    %5 = irdl.base "#builtin.integer"
    %6 = irdl.base "#builtin.integer"
    %7 = irdl.base "#builtin.integer"
    irdl.attributes {"epsilon" = %4, "num_groups" = %5, "per_group" = %6, "stash_type" = %7}
  }
  irdl.operation @lrn {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
    %2 = irdl.base "#builtin.float"
    %3 = irdl.base "#builtin.float"
    %4 = irdl.base "#builtin.float"
    %5 = irdl.base "#builtin.integer"
    irdl.attributes {"alpha" = %2, "beta" = %3, "bias" = %4, "size" = %5}
  }
  irdl.operation @linear_attention {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.base "!builtin.tensor"
    %4 = irdl.is none
    %5 = irdl.any_of(%3, %4)
    %6 = irdl.base "!builtin.tensor"
    %7 = irdl.is none
    %8 = irdl.any_of(%6, %7)
    %9 = irdl.base "!builtin.tensor"
    %10 = irdl.is none
    %11 = irdl.any_of(%9, %10)
    irdl.operands(query: %0, key: %1, value: %2, past_state: %5, decay: %8, beta: %11)
    %12 = irdl.base "!builtin.tensor"
    %13 = irdl.base "!builtin.tensor"
    irdl.results(output: %12, present_state: %13)
    %14 = irdl.base "#builtin.integer"
    %15 = irdl.base "#builtin.integer"
    %16 = irdl.base "#builtin.integer"
    %17 = irdl.base "#builtin.float"
    %18 = irdl.base "#builtin.string"
    irdl.attributes {"chunk_size" = %14, "kv_num_heads" = %15, "q_num_heads" = %16, "scale" = %17, "update_rule" = %18}
  }
  irdl.operation @causal_conv_with_state {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.is none
    %4 = irdl.any_of(%2, %3)
    %5 = irdl.base "!builtin.tensor"
    %6 = irdl.is none
    %7 = irdl.any_of(%5, %6)
    irdl.operands(input: %0, weight: %1, bias: %4, past_state: %7)
    %8 = irdl.base "!builtin.tensor"
    %9 = irdl.base "!builtin.tensor"
    irdl.results(output: %8, present_state: %9)
    %10 = irdl.base "#builtin.string"
    irdl.attributes {"activation" = %10}
  }
  irdl.operation @and {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(a: %0, b: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(c: %2)
  }
  irdl.operation @or {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(a: %0, b: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(c: %2)
  }
  irdl.operation @xor {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(a: %0, b: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(c: %2)
  }
  irdl.operation @not {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @equal {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(a: %0, b: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(c: %2)
  }
  irdl.operation @greater {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(a: %0, b: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(c: %2)
  }
  irdl.operation @greater_or_equal {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(a: %0, b: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(c: %2)
  }
  irdl.operation @less {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(a: %0, b: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(c: %2)
  }
  irdl.operation @less_or_equal {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(a: %0, b: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(c: %2)
  }
  irdl.operation @where {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    irdl.operands(condition: %0, x: %1, y: %2)
    %3 = irdl.base "!builtin.tensor"
    irdl.results(output: %3)
  }
  irdl.operation @bit_shift {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(a: %0, b: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(c: %2)
    %3 = irdl.base "#builtin.string"
    irdl.attributes {"direction" = %3}
  }
  irdl.operation @bitwise_and {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(a: %0, b: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(c: %2)
  }
  irdl.operation @bitwise_or {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(a: %0, b: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(c: %2)
  }
  irdl.operation @bitwise_xor {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(a: %0, b: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(c: %2)
  }
  irdl.operation @bitwise_not {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @is_nan {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @is_inf {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
    %2 = irdl.base "#builtin.integer"
    %3 = irdl.base "#builtin.integer"
    irdl.attributes {"detect_negative" = %2, "detect_positive" = %3}
  }
  irdl.operation @negative_log_likelihood_loss {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.is none
    %4 = irdl.any_of(%2, %3)
    irdl.operands(input: %0, target: %1, weight: %4)
    %5 = irdl.base "!builtin.tensor"
    irdl.results(loss: %5)
    %6 = irdl.base "#builtin.string"
    %7 = irdl.base "#builtin.integer"
    irdl.attributes {"reduction" = %6, "ignore_index" = %7}
  }
  irdl.operation @mat_mul {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(a: %0, b: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(y: %2)
  }
  irdl.operation @gemm {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.is none
    %4 = irdl.any_of(%2, %3)
    irdl.operands(a: %0, b: %1, c: %4)
    %5 = irdl.base "!builtin.tensor"
    irdl.results(y: %5)
    %6 = irdl.base "#builtin.float"
    %7 = irdl.base "#builtin.float"
    %8 = irdl.base "#builtin.integer"
    %9 = irdl.base "#builtin.integer"
    irdl.attributes {"alpha" = %6, "beta" = %7, "transA" = %8, "transB" = %9}
  }
  irdl.operation @ms_fused_mat_mul {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(a: %0, b: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(y: %2)
    %3 = irdl.base "#builtin.float"
    %4 = irdl.base "#builtin.integer"
    %5 = irdl.base "#builtin.integer"
    irdl.attributes {"alpha" = %3, "transA" = %4, "transB" = %5}
  }
  irdl.operation @ms_transpose_mat_mul {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(a: %0, b: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(y: %2)
    %3 = irdl.base "#builtin.float"
    %4 = irdl.base "#builtin.integer"
    %5 = irdl.base "#builtin.integer"
    irdl.attributes {"alpha" = %3, "transA" = %4, "transB" = %5}
  }
  irdl.operation @det {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @trilu {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.is none
    %3 = irdl.any_of(%1, %2)
    irdl.operands(input: %0, k: %3)
    %4 = irdl.base "!builtin.tensor"
    irdl.results(output: %4)
    %5 = irdl.base "#builtin.integer"
    irdl.attributes {"upper" = %5}
  }
  irdl.operation @eye_like {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(input: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(output: %1)
    %2 = irdl.base "#builtin.integer"
    %3 = irdl.base "#builtin.integer"
    irdl.attributes {"dtype" = %2, "k" = %3}
  }
  irdl.operation @non_max_suppression {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.is none
    %4 = irdl.any_of(%2, %3)
    %5 = irdl.base "!builtin.tensor"
    %6 = irdl.is none
    %7 = irdl.any_of(%5, %6)
    %8 = irdl.base "!builtin.tensor"
    %9 = irdl.is none
    %10 = irdl.any_of(%8, %9)
    irdl.operands(boxes: %0, scores: %1, max_output_boxes_per_class: %4, iou_threshold: %7, score_threshold: %10)
    %11 = irdl.base "!builtin.tensor"
    irdl.results(selected_indices: %11)
    %12 = irdl.base "#builtin.integer"
    irdl.attributes {"center_point_box" = %12}
  }
  irdl.operation @layer_normalization {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.is none
    %4 = irdl.any_of(%2, %3)
    irdl.operands(x: %0, scale: %1, b: %4)
    %5 = irdl.base "!builtin.tensor"
    %6 = irdl.any
    %7 = irdl.any
    irdl.results(y: %5, mean: %6, invstddev: %7)
    %8 = irdl.base "#builtin.integer"
    %9 = irdl.base "#builtin.float"
    %10 = irdl.base "#builtin.integer"
    irdl.attributes {"axis" = %8, "epsilon" = %9, "stash_type" = %10}
  }
  irdl.operation @rms_normalization {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0, scale: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(y: %2)
    %3 = irdl.base "#builtin.integer"
    %4 = irdl.base "#builtin.float"
    %5 = irdl.base "#builtin.integer"
    irdl.attributes {"axis" = %3, "epsilon" = %4, "stash_type" = %5}
  }
  irdl.operation @simplified_layer_normalization {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0, scale: %1)
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.any
    irdl.results(y: %2, inv_std_var: %3)
    %4 = irdl.base "#builtin.integer"
    %5 = irdl.base "#builtin.float"
    %6 = irdl.base "#builtin.integer"
    irdl.attributes {"axis" = %4, "epsilon" = %5, "stash_type" = %6}
  }
  irdl.operation @one_hot {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    irdl.operands(indices: %0, depth: %1, values: %2)
    %3 = irdl.base "!builtin.tensor"
    irdl.results(output: %3)
    %4 = irdl.base "#builtin.integer"
    irdl.attributes {"axis" = %4}
  }
  irdl.operation @reverse_sequence {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(input: %0, sequence_lens: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(y: %2)
    %3 = irdl.base "#builtin.integer"
    %4 = irdl.base "#builtin.integer"
    irdl.attributes {"batch_axis" = %3, "time_axis" = %4}
  }
  irdl.operation @bit_cast {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(input: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(output: %1)
    %2 = irdl.base "#builtin.integer"
    irdl.attributes {"to" = %2}
  }
  irdl.operation @optional {
    %0 = irdl.any
    irdl.operands(input: %0)
    %1 = irdl.any
    irdl.results(output: %1)
    %2 = irdl.base "#builtin.type"
    irdl.attributes {"type" = %2}
  }
  irdl.operation @optional_has_element {
    %0 = irdl.any
    irdl.operands(input: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(output: %1)
  }
  irdl.operation @optional_get_element {
    %0 = irdl.any
    irdl.operands(input: %0)
    %1 = irdl.any
    irdl.results(output: %1)
  }
  irdl.operation @arg_max {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(data: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(reduced: %1)
    %2 = irdl.base "#builtin.integer"
    %3 = irdl.base "#builtin.integer"
    %4 = irdl.base "#builtin.integer"
    irdl.attributes {"axis" = %2, "keepdims" = %3, "select_last_index" = %4}
  }
  irdl.operation @arg_min {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(data: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(reduced: %1)
    %2 = irdl.base "#builtin.integer"
    %3 = irdl.base "#builtin.integer"
    %4 = irdl.base "#builtin.integer"
    irdl.attributes {"axis" = %2, "keepdims" = %3, "select_last_index" = %4}
  }
  irdl.operation @topk {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0, k: %1)
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.base "!builtin.tensor"
    irdl.results(values: %2, indices: %3)
    %4 = irdl.base "#builtin.integer"
    %5 = irdl.base "#builtin.integer"
    %6 = irdl.base "#builtin.integer"
    irdl.attributes {"axis" = %4, "largest" = %5, "sorted" = %6}
  }
  irdl.operation @pad {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.is none
    %4 = irdl.any_of(%2, %3)
    %5 = irdl.base "!builtin.tensor"
    %6 = irdl.is none
    %7 = irdl.any_of(%5, %6)
    irdl.operands(data: %0, pads: %1, constant_value: %4, axes: %7)
    %8 = irdl.base "!builtin.tensor"
    irdl.results(output: %8)
    %9 = irdl.base "#builtin.string"
    irdl.attributes {"mode" = %9}
  }
  irdl.operation @ml_pair_coupling {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
    %2 = irdl.base "#builtin.integer"
    irdl.attributes {"classes" = %2}
  }
  irdl.operation @max_pool {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    irdl.results(y: %1, indices: %2)
    %3 = irdl.base "#builtin.string"
    %4 = irdl.base "#builtin.integer"
    %5 = irdl.base "#builtin.dense_array"
    %6 = irdl.base "#builtin.dense_array"
    %7 = irdl.base "#builtin.dense_array"
    %8 = irdl.base "#builtin.dense_array"
    %9 = irdl.base "#builtin.integer"
    irdl.attributes {"auto_pad" = %3, "ceil_mode" = %4, "dilations" = %5, "kernel_shape" = %6, "pads" = %7, "strides" = %8, "storage_order" = %9}
  }
  irdl.operation @average_pool {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
    %2 = irdl.base "#builtin.string"
    %3 = irdl.base "#builtin.integer"
    %4 = irdl.base "#builtin.dense_array"
    %5 = irdl.base "#builtin.dense_array"
    %6 = irdl.base "#builtin.dense_array"
    %7 = irdl.base "#builtin.dense_array"
    %8 = irdl.base "#builtin.integer"
    irdl.attributes {"auto_pad" = %2, "ceil_mode" = %3, "dilations" = %4, "kernel_shape" = %5, "pads" = %6, "strides" = %7, "count_include_pad" = %8}
  }
  irdl.operation @lp_pool {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
    %2 = irdl.base "#builtin.string"
    %3 = irdl.base "#builtin.integer"
    %4 = irdl.base "#builtin.dense_array"
    %5 = irdl.base "#builtin.dense_array"
    %6 = irdl.base "#builtin.dense_array"
    %7 = irdl.base "#builtin.dense_array"
    %8 = irdl.base "#builtin.integer"
    irdl.attributes {"auto_pad" = %2, "ceil_mode" = %3, "dilations" = %4, "kernel_shape" = %5, "pads" = %6, "strides" = %7, "p" = %8}
  }
  irdl.operation @quantize_linear {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.is none
    %4 = irdl.any_of(%2, %3)
    irdl.operands(x: %0, y_scale: %1, y_zero_point: %4)
    %5 = irdl.base "!builtin.tensor"
    irdl.results(y: %5)
    %6 = irdl.base "#builtin.integer"
    %7 = irdl.base "#builtin.integer"
    %8 = irdl.base "#builtin.integer"
    %9 = irdl.base "#builtin.integer"
    %10 = irdl.base "#builtin.integer"
    irdl.attributes {"axis" = %6, "saturate" = %7, "block_size" = %8, "output_dtype" = %9, "precision" = %10}
  }
  irdl.operation @dequantize_linear {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.is none
    %4 = irdl.any_of(%2, %3)
    irdl.operands(x: %0, x_scale: %1, x_zero_point: %4)
    %5 = irdl.base "!builtin.tensor"
    irdl.results(y: %5)
    %6 = irdl.base "#builtin.integer"
    %7 = irdl.base "#builtin.integer"
    %8 = irdl.base "#builtin.integer"
    irdl.attributes {"axis" = %6, "block_size" = %7, "output_dtype" = %8}
  }
  irdl.operation @mat_mul_integer {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.is none
    %4 = irdl.any_of(%2, %3)
    %5 = irdl.base "!builtin.tensor"
    %6 = irdl.is none
    %7 = irdl.any_of(%5, %6)
    irdl.operands(a: %0, b: %1, a_zero_point: %4, b_zero_point: %7)
    %8 = irdl.base "!builtin.tensor"
    irdl.results(y: %8)
  }
  irdl.operation @q_linear_mat_mul {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.base "!builtin.tensor"
    %4 = irdl.base "!builtin.tensor"
    %5 = irdl.base "!builtin.tensor"
    %6 = irdl.base "!builtin.tensor"
    %7 = irdl.base "!builtin.tensor"
    irdl.operands(a: %0, a_scale: %1, a_zero_point: %2, b: %3, b_scale: %4, b_zero_point: %5, y_scale: %6, y_zero_point: %7)
    %8 = irdl.base "!builtin.tensor"
    irdl.results(y: %8)
  }
  irdl.operation @random_normal {
    %0 = irdl.base "!builtin.tensor"
    irdl.results(output: %0)
    %1 = irdl.base "#builtin.dense_array"
    %2 = irdl.base "#builtin.integer"
    %3 = irdl.base "#builtin.float"
    %4 = irdl.base "#builtin.integer"
    %5 = irdl.base "#builtin.float"
    %6 = irdl.base "#builtin.float"
    irdl.attributes {"shape" = %1, "dtype" = %2, "seed" = %3, "seeded" = %4, "mean" = %5, "scale" = %6}
  }
  irdl.operation @random_uniform {
    %0 = irdl.base "!builtin.tensor"
    irdl.results(output: %0)
    %1 = irdl.base "#builtin.dense_array"
    %2 = irdl.base "#builtin.integer"
    %3 = irdl.base "#builtin.float"
    %4 = irdl.base "#builtin.integer"
    %5 = irdl.base "#builtin.float"
    %6 = irdl.base "#builtin.float"
    irdl.attributes {"shape" = %1, "dtype" = %2, "seed" = %3, "seeded" = %4, "low" = %5, "high" = %6}
  }
  irdl.operation @random_normal_like {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(input: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(output: %1)
    %2 = irdl.base "#builtin.integer"
    %3 = irdl.base "#builtin.float"
    %4 = irdl.base "#builtin.integer"
    %5 = irdl.base "#builtin.float"
    %6 = irdl.base "#builtin.float"
    irdl.attributes {"dtype" = %2, "seed" = %3, "seeded" = %4, "mean" = %5, "scale" = %6}
  }
  irdl.operation @random_uniform_like {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(input: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(output: %1)
    %2 = irdl.base "#builtin.integer"
    %3 = irdl.base "#builtin.float"
    %4 = irdl.base "#builtin.integer"
    %5 = irdl.base "#builtin.float"
    %6 = irdl.base "#builtin.float"
    irdl.attributes {"dtype" = %2, "seed" = %3, "seeded" = %4, "low" = %5, "high" = %6}
  }
  irdl.operation @bernoulli {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(input: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(output: %1)
    %2 = irdl.base "#builtin.integer"
    %3 = irdl.base "#builtin.float"
    %4 = irdl.base "#builtin.integer"
    irdl.attributes {"dtype" = %2, "seed" = %3, "seeded" = %4}
  }
  irdl.operation @multinomial {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(input: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(output: %1)
    %2 = irdl.base "#builtin.integer"
    %3 = irdl.base "#builtin.integer"
    %4 = irdl.base "#builtin.float"
    %5 = irdl.base "#builtin.integer"
    irdl.attributes {"dtype" = %2, "sample_size" = %3, "seed" = %4, "seeded" = %5}
  }
  irdl.operation @dropout {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.is none
    %3 = irdl.any_of(%1, %2)
    %4 = irdl.base "!builtin.tensor"
    %5 = irdl.is none
    %6 = irdl.any_of(%4, %5)
    irdl.operands(data: %0, ratio: %3, training_mode: %6)
    %7 = irdl.base "!builtin.tensor"
    %8 = irdl.base "!builtin.tensor"
    irdl.results(output: %7, mask: %8)
    %9 = irdl.base "#builtin.integer"
    %10 = irdl.base "#builtin.integer"
    irdl.attributes {"seed" = %9, "seeded" = %10}
  }
  irdl.operation @reduce_sum {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.is none
    %3 = irdl.any_of(%1, %2)
    irdl.operands(data: %0, axes: %3)
    %4 = irdl.base "!builtin.tensor"
    irdl.results(reduced: %4)
    %5 = irdl.base "#builtin.integer"
    %6 = irdl.base "#builtin.integer"
    irdl.attributes {"keepdims" = %5, "noop_with_empty_axes" = %6}
  }
  irdl.operation @reduce_mean {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.is none
    %3 = irdl.any_of(%1, %2)
    irdl.operands(data: %0, axes: %3)
    %4 = irdl.base "!builtin.tensor"
    irdl.results(reduced: %4)
    %5 = irdl.base "#builtin.integer"
    %6 = irdl.base "#builtin.integer"
    irdl.attributes {"keepdims" = %5, "noop_with_empty_axes" = %6}
  }
  irdl.operation @reduce_prod {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.is none
    %3 = irdl.any_of(%1, %2)
    irdl.operands(data: %0, axes: %3)
    %4 = irdl.base "!builtin.tensor"
    irdl.results(reduced: %4)
    %5 = irdl.base "#builtin.integer"
    %6 = irdl.base "#builtin.integer"
    irdl.attributes {"keepdims" = %5, "noop_with_empty_axes" = %6}
  }
  irdl.operation @reduce_max {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.is none
    %3 = irdl.any_of(%1, %2)
    irdl.operands(data: %0, axes: %3)
    %4 = irdl.base "!builtin.tensor"
    irdl.results(reduced: %4)
    %5 = irdl.base "#builtin.integer"
    %6 = irdl.base "#builtin.integer"
    irdl.attributes {"keepdims" = %5, "noop_with_empty_axes" = %6}
  }
  irdl.operation @reduce_min {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.is none
    %3 = irdl.any_of(%1, %2)
    irdl.operands(data: %0, axes: %3)
    %4 = irdl.base "!builtin.tensor"
    irdl.results(reduced: %4)
    %5 = irdl.base "#builtin.integer"
    %6 = irdl.base "#builtin.integer"
    irdl.attributes {"keepdims" = %5, "noop_with_empty_axes" = %6}
  }
  irdl.operation @reduce_l1 {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.is none
    %3 = irdl.any_of(%1, %2)
    irdl.operands(data: %0, axes: %3)
    %4 = irdl.base "!builtin.tensor"
    irdl.results(reduced: %4)
    %5 = irdl.base "#builtin.integer"
    %6 = irdl.base "#builtin.integer"
    irdl.attributes {"keepdims" = %5, "noop_with_empty_axes" = %6}
  }
  irdl.operation @reduce_l2 {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.is none
    %3 = irdl.any_of(%1, %2)
    irdl.operands(data: %0, axes: %3)
    %4 = irdl.base "!builtin.tensor"
    irdl.results(reduced: %4)
    %5 = irdl.base "#builtin.integer"
    %6 = irdl.base "#builtin.integer"
    irdl.attributes {"keepdims" = %5, "noop_with_empty_axes" = %6}
  }
  irdl.operation @reduce_log_sum {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.is none
    %3 = irdl.any_of(%1, %2)
    irdl.operands(data: %0, axes: %3)
    %4 = irdl.base "!builtin.tensor"
    irdl.results(reduced: %4)
    %5 = irdl.base "#builtin.integer"
    %6 = irdl.base "#builtin.integer"
    irdl.attributes {"keepdims" = %5, "noop_with_empty_axes" = %6}
  }
  irdl.operation @reduce_log_sum_exp {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.is none
    %3 = irdl.any_of(%1, %2)
    irdl.operands(data: %0, axes: %3)
    %4 = irdl.base "!builtin.tensor"
    irdl.results(reduced: %4)
    %5 = irdl.base "#builtin.integer"
    %6 = irdl.base "#builtin.integer"
    irdl.attributes {"keepdims" = %5, "noop_with_empty_axes" = %6}
  }
  irdl.operation @reduce_sum_square {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.is none
    %3 = irdl.any_of(%1, %2)
    irdl.operands(data: %0, axes: %3)
    %4 = irdl.base "!builtin.tensor"
    irdl.results(reduced: %4)
    %5 = irdl.base "#builtin.integer"
    %6 = irdl.base "#builtin.integer"
    irdl.attributes {"keepdims" = %5, "noop_with_empty_axes" = %6}
  }
  irdl.operation @resize {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.is none
    %3 = irdl.any_of(%1, %2)
    %4 = irdl.base "!builtin.tensor"
    %5 = irdl.is none
    %6 = irdl.any_of(%4, %5)
    %7 = irdl.base "!builtin.tensor"
    %8 = irdl.is none
    %9 = irdl.any_of(%7, %8)
    irdl.operands(x: %0, roi: %3, scales: %6, sizes: %9)
    %10 = irdl.base "!builtin.tensor"
    irdl.results(y: %10)
    %11 = irdl.base "#builtin.integer"
    %12 = irdl.base "#builtin.dense_array"
    %13 = irdl.base "#builtin.string"
    %14 = irdl.base "#builtin.float"
    %15 = irdl.base "#builtin.integer"
    %16 = irdl.base "#builtin.float"
    %17 = irdl.base "#builtin.string"
    %18 = irdl.base "#builtin.string"
    %19 = irdl.base "#builtin.string"
    irdl.attributes {"antialias" = %11, "axes" = %12, "coordinate_transformation_mode" = %13, "cubic_coeff_a" = %14, "exclude_outside" = %15, "extrapolation_value" = %16, "keep_aspect_ratio_policy" = %17, "mode" = %18, "nearest_mode" = %19}
  }
  irdl.operation @rnn {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.base "!builtin.tensor"
    %4 = irdl.is none
    %5 = irdl.any_of(%3, %4)
    %6 = irdl.base "!builtin.tensor"
    %7 = irdl.is none
    %8 = irdl.any_of(%6, %7)
    %9 = irdl.base "!builtin.tensor"
    %10 = irdl.is none
    %11 = irdl.any_of(%9, %10)
    irdl.operands(x: %0, w: %1, r: %2, b: %5, sequence_lens: %8, initial_h: %11)
    %12 = irdl.base "!builtin.tensor"
    %13 = irdl.base "!builtin.tensor"
    irdl.results(y: %12, y_h: %13)
    %14 = irdl.base "#builtin.integer"
    %15 = irdl.base "#builtin.string"
    %16 = irdl.base "#builtin.array"
    %17 = irdl.base "#builtin.dense_array"
    %18 = irdl.base "#builtin.dense_array"
    %19 = irdl.base "#builtin.float"
    %20 = irdl.base "#builtin.integer"
    irdl.attributes {"hidden_size" = %14, "direction" = %15, "activations" = %16, "activation_alpha" = %17, "activation_beta" = %18, "clip" = %19, "layout" = %20}
  }
  irdl.operation @gru {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.base "!builtin.tensor"
    %4 = irdl.is none
    %5 = irdl.any_of(%3, %4)
    %6 = irdl.base "!builtin.tensor"
    %7 = irdl.is none
    %8 = irdl.any_of(%6, %7)
    %9 = irdl.base "!builtin.tensor"
    %10 = irdl.is none
    %11 = irdl.any_of(%9, %10)
    irdl.operands(x: %0, w: %1, r: %2, b: %5, sequence_lens: %8, initial_h: %11)
    %12 = irdl.base "!builtin.tensor"
    %13 = irdl.base "!builtin.tensor"
    irdl.results(y: %12, y_h: %13)
    %14 = irdl.base "#builtin.integer"
    %15 = irdl.base "#builtin.string"
    %16 = irdl.base "#builtin.array"
    %17 = irdl.base "#builtin.dense_array"
    %18 = irdl.base "#builtin.dense_array"
    %19 = irdl.base "#builtin.float"
    %20 = irdl.base "#builtin.integer"
    %21 = irdl.base "#builtin.integer"
    irdl.attributes {"hidden_size" = %14, "direction" = %15, "activations" = %16, "activation_alpha" = %17, "activation_beta" = %18, "clip" = %19, "layout" = %20, "linear_before_reset" = %21}
  }
  irdl.operation @lstm {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.base "!builtin.tensor"
    %4 = irdl.is none
    %5 = irdl.any_of(%3, %4)
    %6 = irdl.base "!builtin.tensor"
    %7 = irdl.is none
    %8 = irdl.any_of(%6, %7)
    %9 = irdl.base "!builtin.tensor"
    %10 = irdl.is none
    %11 = irdl.any_of(%9, %10)
    %12 = irdl.base "!builtin.tensor"
    %13 = irdl.is none
    %14 = irdl.any_of(%12, %13)
    %15 = irdl.base "!builtin.tensor"
    %16 = irdl.is none
    %17 = irdl.any_of(%15, %16)
    irdl.operands(x: %0, w: %1, r: %2, b: %5, sequence_lens: %8, initial_h: %11, initial_c: %14, p: %17)
    %18 = irdl.base "!builtin.tensor"
    %19 = irdl.base "!builtin.tensor"
    %20 = irdl.base "!builtin.tensor"
    irdl.results(y: %18, y_h: %19, y_c: %20)
    %21 = irdl.base "#builtin.integer"
    %22 = irdl.base "#builtin.string"
    %23 = irdl.base "#builtin.array"
    %24 = irdl.base "#builtin.dense_array"
    %25 = irdl.base "#builtin.dense_array"
    %26 = irdl.base "#builtin.float"
    %27 = irdl.base "#builtin.integer"
    %28 = irdl.base "#builtin.integer"
    irdl.attributes {"hidden_size" = %21, "direction" = %22, "activations" = %23, "activation_alpha" = %24, "activation_beta" = %25, "clip" = %26, "layout" = %27, "input_forget" = %28}
  }
  irdl.operation @roi_align {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0, rois: %1, batch_indices: %2)
    %3 = irdl.base "!builtin.tensor"
    irdl.results(y: %3)
    %4 = irdl.base "#builtin.string"
    %5 = irdl.base "#builtin.string"
    %6 = irdl.base "#builtin.integer"
    %7 = irdl.base "#builtin.integer"
    %8 = irdl.base "#builtin.integer"
    %9 = irdl.base "#builtin.float"
    irdl.attributes {"coordinate_transformation_mode" = %4, "mode" = %5, "output_height" = %6, "output_width" = %7, "sampling_ratio" = %8, "spatial_scale" = %9}
  }
  irdl.operation @max_roi_pool {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0, rois: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(y: %2)
    %3 = irdl.base "#builtin.dense_array"
    %4 = irdl.base "#builtin.float"
    irdl.attributes {"pooled_shape" = %3, "spatial_scale" = %4}
  }
  irdl.operation @rotary_embedding {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.base "!builtin.tensor"
    %4 = irdl.is none
    %5 = irdl.any_of(%3, %4)
    irdl.operands(x: %0, cos_cache: %1, sin_cache: %2, position_ids: %5)
    %6 = irdl.base "!builtin.tensor"
    irdl.results(y: %6)
    %7 = irdl.base "#builtin.integer"
    %8 = irdl.base "#builtin.integer"
    %9 = irdl.base "#builtin.integer"
    irdl.attributes {"interleaved" = %7, "num_heads" = %8, "rotary_embedding_dim" = %9}
  }
  irdl.operation @cum_sum {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0, axis: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(y: %2)
    %3 = irdl.base "#builtin.integer"
    %4 = irdl.base "#builtin.integer"
    irdl.attributes {"exclusive" = %3, "reverse" = %4}
  }
  irdl.operation @cum_prod {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0, axis: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(y: %2)
    %3 = irdl.base "#builtin.integer"
    %4 = irdl.base "#builtin.integer"
    irdl.attributes {"exclusive" = %3, "reverse" = %4}
  }
  irdl.operation @scatter_elements {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    irdl.operands(data: %0, indices: %1, updates: %2)
    %3 = irdl.base "!builtin.tensor"
    irdl.results(output: %3)
    %4 = irdl.base "#builtin.integer"
    %5 = irdl.base "#builtin.string"
    irdl.attributes {"axis" = %4, "reduction" = %5}
  }
  irdl.operation @scatter {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    irdl.operands(data: %0, indices: %1, updates: %2)
    %3 = irdl.base "!builtin.tensor"
    irdl.results(output: %3)
    %4 = irdl.base "#builtin.integer"
    %5 = irdl.base "#builtin.string"
    irdl.attributes {"axis" = %4, "reduction" = %5}
  }
  irdl.operation @scatter_nd {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    irdl.operands(data: %0, indices: %1, updates: %2)
    %3 = irdl.base "!builtin.tensor"
    irdl.results(output: %3)
    %4 = irdl.base "#builtin.string"
    irdl.attributes {"reduction" = %4}
  }
  irdl.operation @tensor_scatter {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.is none
    %4 = irdl.any_of(%2, %3)
    irdl.operands(past_cache: %0, update: %1, write_indices: %4)
    %5 = irdl.base "!builtin.tensor"
    irdl.results(present_cache: %5)
    %6 = irdl.base "#builtin.integer"
    %7 = irdl.base "#builtin.string"
    irdl.attributes {"axis" = %6, "mode" = %7}
  }
  irdl.operation @non_zero {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @compress {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(input: %0, condition: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(output: %2)
    %3 = irdl.base "#builtin.integer"
    irdl.attributes {"axis" = %3}
  }
  irdl.operation @sequence_empty {
    %0 = irdl.any
    irdl.results(output: %0)
    %1 = irdl.base "#builtin.integer"
    irdl.attributes {"dtype" = %1}
  }
  irdl.operation @sequence_construct {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    %3 = irdl.any
    %4 = irdl.any
    %5 = irdl.any
    %6 = irdl.any
    %7 = irdl.any
    %8 = irdl.any
    %9 = irdl.any
    %10 = irdl.any
    %11 = irdl.any
    %12 = irdl.any
    %13 = irdl.any
    %14 = irdl.any
    %15 = irdl.any
    %16 = irdl.any
    %17 = irdl.any
    %18 = irdl.any
    %19 = irdl.any
    %20 = irdl.any
    %21 = irdl.any
    %22 = irdl.any
    %23 = irdl.any
    %24 = irdl.any
    %25 = irdl.any
    %26 = irdl.any
    %27 = irdl.any
    %28 = irdl.any
    %29 = irdl.any
    %30 = irdl.any
    %31 = irdl.any
    irdl.operands(inputs_0: optional %0, inputs_1: optional %1, inputs_2: optional %2, inputs_3: optional %3, inputs_4: optional %4, inputs_5: optional %5, inputs_6: optional %6, inputs_7: optional %7, inputs_8: optional %8, inputs_9: optional %9, inputs_10: optional %10, inputs_11: optional %11, inputs_12: optional %12, inputs_13: optional %13, inputs_14: optional %14, inputs_15: optional %15, inputs_16: optional %16, inputs_17: optional %17, inputs_18: optional %18, inputs_19: optional %19, inputs_20: optional %20, inputs_21: optional %21, inputs_22: optional %22, inputs_23: optional %23, inputs_24: optional %24, inputs_25: optional %25, inputs_26: optional %26, inputs_27: optional %27, inputs_28: optional %28, inputs_29: optional %29, inputs_30: optional %30, inputs_31: optional %31)
    %32 = irdl.any
    irdl.results(output_sequence: %32)
  }
  irdl.operation @sequence_at {
    %0 = irdl.any
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(input_sequence: %0, position: %1)
    %2 = irdl.any
    irdl.results(tensor: %2)
  }
  irdl.operation @sequence_length {
    %0 = irdl.any
    irdl.operands(input_sequence: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(length: %1)
  }
  irdl.operation @sequence_insert {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.is none
    %4 = irdl.any_of(%2, %3)
    irdl.operands(input_sequence: %0, tensor: %1, position: %4)
    %5 = irdl.any
    irdl.results(output_sequence: %5)
  }
  irdl.operation @sequence_erase {
    %0 = irdl.any
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.is none
    %3 = irdl.any_of(%1, %2)
    irdl.operands(input_sequence: %0, position: %3)
    %4 = irdl.any
    irdl.results(output_sequence: %4)
  }
  irdl.operation @split_to_sequence {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.is none
    %3 = irdl.any_of(%1, %2)
    irdl.operands(input: %0, split: %3)
    %4 = irdl.any
    irdl.results(output_sequence: %4)
    %5 = irdl.base "#builtin.integer"
    %6 = irdl.base "#builtin.integer"
    irdl.attributes {"axis" = %5, "keepdims" = %6}
  }
  irdl.operation @concat_from_sequence {
    %0 = irdl.any
    irdl.operands(input_sequence: %0)
    %1 = irdl.any
    irdl.results(concat_result: %1)
    %2 = irdl.base "#builtin.integer"
    %3 = irdl.base "#builtin.integer"
    irdl.attributes {"axis" = %2, "new_axis" = %3}
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
  irdl.operation @slice {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.base "!builtin.tensor"
    %4 = irdl.is none
    %5 = irdl.any_of(%3, %4)
    %6 = irdl.base "!builtin.tensor"
    %7 = irdl.is none
    %8 = irdl.any_of(%6, %7)
    irdl.operands(data: %0, starts: %1, ends: %2, axes: %5, steps: %8)
    %9 = irdl.base "!builtin.tensor"
    irdl.results(output: %9)
  }
  irdl.operation @softmax {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(input: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(output: %1)
    %2 = irdl.base "#builtin.integer"
    irdl.attributes {"axis" = %2}
  }
  irdl.operation @log_softmax {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(input: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(output: %1)
    %2 = irdl.base "#builtin.integer"
    irdl.attributes {"axis" = %2}
  }
  irdl.operation @hardmax {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(input: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(output: %1)
    %2 = irdl.base "#builtin.integer"
    irdl.attributes {"axis" = %2}
  }
  irdl.operation @depth_to_space {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(input: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(output: %1)
    %2 = irdl.base "#builtin.integer"
    %3 = irdl.base "#builtin.string"
    irdl.attributes {"blocksize" = %2, "mode" = %3}
  }
  irdl.operation @space_to_depth {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(input: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(output: %1)
    %2 = irdl.base "#builtin.integer"
    %3 = irdl.base "#builtin.string"
    irdl.attributes {"blocksize" = %2, "mode" = %3}
  }
  irdl.operation @center_crop_pad {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(input_data: %0, shape: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(output_data: %2)
    %3 = irdl.base "#builtin.dense_array"
    irdl.attributes {"axes" = %3}
  }
  irdl.operation @string_concat {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0, y: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(z: %2)
  }
  irdl.operation @text_equal {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(a: %0, b: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(c: %2)
  }
  irdl.operation @text_split {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0, delimiter: %1)
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.base "!builtin.tensor"
    irdl.results(y: %2, z: %3)
    %4 = irdl.base "#builtin.integer"
    irdl.attributes {"maxsplit" = %4}
  }
  irdl.operation @text_case {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
    %2 = irdl.base "#builtin.integer"
    irdl.attributes {"to" = %2}
  }
  irdl.operation @text_normalize {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0, stopwords: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(y: %2)
    %3 = irdl.base "#builtin.integer"
    %4 = irdl.base "#builtin.integer"
    irdl.attributes {"compare" = %3, "to" = %4}
  }
  irdl.operation @text_match {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0, program: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(y: %2)
  }
  irdl.operation @text_find {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0, keys: %1)
    %2 = irdl.base "!builtin.tensor"
    irdl.results(y: %2)
  }
  irdl.operation @text_rank {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @text_print {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @text_parse {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
    %2 = irdl.base "#builtin.integer"
    irdl.attributes {"to" = %2}
  }
  irdl.operation @ngram_count {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.base "!builtin.tensor"
    %4 = irdl.base "!builtin.tensor"
    %5 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0, first: %1, tokens: %2, child: %3, column: %4, weights: %5)
    %6 = irdl.base "!builtin.tensor"
    irdl.results(y: %6)
    %7 = irdl.base "#builtin.integer"
    %8 = irdl.base "#builtin.integer"
    %9 = irdl.base "#builtin.integer"
    %10 = irdl.base "#builtin.integer"
    %11 = irdl.base "#builtin.integer"
    irdl.attributes {"columns" = %7, "longest" = %8, "once" = %9, "shortest" = %10, "skips" = %11}
  }
  irdl.operation @transpose {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(data: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(transposed: %1)
    %2 = irdl.base "#builtin.dense_array"
    irdl.attributes {"perm" = %2}
  }
  irdl.operation @ml_tree_walk {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.base "!builtin.tensor"
    %4 = irdl.base "!builtin.tensor"
    %5 = irdl.base "!builtin.tensor"
    %6 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0, nodes: %1, splits: %2, roots: %3, leaves: %4, targets: %5, weights: %6)
    %7 = irdl.base "!builtin.tensor"
    irdl.results(y: %7)
    %8 = irdl.base "#builtin.integer"
    %9 = irdl.base "#builtin.integer"
    %10 = irdl.base "#builtin.integer"
    %11 = irdl.base "#builtin.integer"
    %12 = irdl.base "#builtin.integer"
    %13 = irdl.base "#builtin.integer"
    %14 = irdl.base "#builtin.integer"
    irdl.attributes {"aggregate" = %8, "features" = %9, "form" = %10, "n_nodes" = %11, "n_targets" = %12, "n_trees" = %13, "negated" = %14}
  }
  irdl.operation @sin {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @cos {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @tan {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @asin {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @acos {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @atan {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @sinh {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @cosh {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @asinh {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @acosh {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @atanh {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(y: %1)
  }
  irdl.operation @unique {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(x: %0)
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.base "!builtin.tensor"
    %4 = irdl.base "!builtin.tensor"
    irdl.results(y: %1, indices: %2, inverse_indices: %3, counts: %4)
    %5 = irdl.base "#builtin.integer"
    %6 = irdl.base "#builtin.integer"
    irdl.attributes {"axis" = %5, "sorted" = %6}
  }
  irdl.operation @max_unpool {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.is none
    %4 = irdl.any_of(%2, %3)
    irdl.operands(x: %0, i: %1, output_shape: %4)
    %5 = irdl.base "!builtin.tensor"
    irdl.results(output: %5)
    %6 = irdl.base "#builtin.dense_array"
    %7 = irdl.base "#builtin.string"
    %8 = irdl.base "#builtin.dense_array"
    %9 = irdl.base "#builtin.dense_array"
    %10 = irdl.base "#builtin.dense_array"
    irdl.attributes {"kernel_shape" = %6, "auto_pad" = %7, "dilations" = %8, "pads" = %9, "strides" = %10}
  }
  irdl.operation @col2im {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    irdl.operands(input: %0, image_shape: %1, block_shape: %2)
    %3 = irdl.base "!builtin.tensor"
    irdl.results(output: %3)
    %4 = irdl.base "#builtin.dense_array"
    %5 = irdl.base "#builtin.dense_array"
    %6 = irdl.base "#builtin.dense_array"
    irdl.attributes {"dilations" = %4, "pads" = %5, "strides" = %6}
  }
  irdl.operation @hann_window {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(size: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(output: %1)
    %2 = irdl.base "#builtin.integer"
    %3 = irdl.base "#builtin.integer"
    irdl.attributes {"output_datatype" = %2, "periodic" = %3}
  }
  irdl.operation @hamming_window {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(size: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(output: %1)
    %2 = irdl.base "#builtin.integer"
    %3 = irdl.base "#builtin.integer"
    irdl.attributes {"output_datatype" = %2, "periodic" = %3}
  }
  irdl.operation @blackman_window {
    %0 = irdl.base "!builtin.tensor"
    irdl.operands(size: %0)
    %1 = irdl.base "!builtin.tensor"
    irdl.results(output: %1)
    %2 = irdl.base "#builtin.integer"
    %3 = irdl.base "#builtin.integer"
    irdl.attributes {"output_datatype" = %2, "periodic" = %3}
  }
  irdl.operation @mel_weight_matrix {
    %0 = irdl.base "!builtin.tensor"
    %1 = irdl.base "!builtin.tensor"
    %2 = irdl.base "!builtin.tensor"
    %3 = irdl.base "!builtin.tensor"
    %4 = irdl.base "!builtin.tensor"
    irdl.operands(num_mel_bins: %0, dft_length: %1, sample_rate: %2, lower_edge_hertz: %3, upper_edge_hertz: %4)
    %5 = irdl.base "!builtin.tensor"
    irdl.results(output: %5)
    %6 = irdl.base "#builtin.integer"
    irdl.attributes {"output_datatype" = %6}
  }
}
