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

  // Convolution networks run on f32 tensors [N][ceil(C/b)][H][W][b], b lanes of
  // a vector: element [n][i][y][x][j] is channel i*b+j; what lies in lanes at or
  // above C is unspecified. These ops, like all roots, have no destination in
  // the onnx phase; lowering appends a tensor.empty of the result's type.

  // [N][C][H][W] to [N][ceil(C/b)][H][W][b], lanes at or above C zero.
  irdl.operation @pack {
    %input = irdl.base "!builtin.tensor"
    %dest = irdl.base "!builtin.tensor"
    %result = irdl.base "!builtin.tensor"
    irdl.operands(input: %input, dest: optional %dest)
    irdl.results(result: %result)
  }

  // [N][ceil(C/b)][H][W][b] to [N][C][H][W].
  irdl.operation @unpack {
    %input = irdl.base "!builtin.tensor"
    %dest = irdl.base "!builtin.tensor"
    %result = irdl.base "!builtin.tensor"
    irdl.operands(input: %input, dest: optional %dest)
    irdl.results(result: %result)
  }

  // Input packed, or plain [N][C][H][W] (few channels: the first layer); result
  // packed. `channels`: input channels per group; packed input with groups: a
  // multiple of b. pads: top, left, bottom, right.
  //
  // Weights are one row of numbers. The K/b blocks of output channels are cut
  // into panels of `panel` blocks; a rest of one block joins the panel before
  // it, a larger rest is a panel of its own. A panel of p blocks holds
  // [full blocks of input channels][R][S][b][p*b], then the remaining input
  // channels as [R][S][rest][p*b]; of plain input all: [C][R][S][p*b].
  // Output channels at or above K have zero weights and bias. Bias: [K/b][b].
  //
  // With an attribute interleave = [s, t] the window has one pixel, and output
  // channels are s * t groups of whole blocks: pixel (y, x) of group i * t + j
  // is pixel (y * s + i, x * t + j) of the result (krnl.interleave behind it).
  irdl.operation @conv {
    %input = irdl.base "!builtin.tensor"
    %weights = irdl.base "!builtin.tensor"
    %bias = irdl.base "!builtin.tensor"
    %dest = irdl.base "!builtin.tensor"
    %result = irdl.base "!builtin.tensor"
    %kernel = irdl.base "#builtin.dense_array"
    %strides = irdl.base "#builtin.dense_array"
    %dilations = irdl.base "#builtin.dense_array"
    %pads = irdl.base "#builtin.dense_array"
    %channels = irdl.base "#builtin.integer"
    %groups = irdl.base "#builtin.integer"
    %panel = irdl.base "#builtin.integer"
    irdl.operands(input: %input, weights: %weights, bias: %bias, dest: optional %dest)
    irdl.results(result: %result)
    irdl.attributes {
      "kernel" = %kernel, "strides" = %strides, "dilations" = %dilations,
      "pads" = %pads, "channels" = %channels, "groups" = %groups,
      "panel" = %panel
    }
  }

  // krnl.conv of bytes with sums of 32 bits: an image of i8 (unsigned; of signed
  // bytes with `signed` = 1, whose sign bits are flipped when they are read) to
  // one of i32 [N][ceil(K/b)][H][W][b]. Blocks of the input's channels are a
  // multiple of 4, not necessarily b; `channels` counts those of a group.
  // Weights are words (i32) for four channels, zeros where there is no channel:
  // with dot = "bytes" one of four signed bytes, with "pairs" two of two numbers
  // of 16 bits, those of channels 0 and 2 and of 1 and 3. A panel of p blocks of
  // filters holds [full blocks of input channels][R][S][words of a block][1 or
  // 2][p*b], then the remaining words as [R][S][rest][1 or 2][p*b]. Bias: [K/b][b] of i32, what the sums start with. Nothing
  // is added for pads.
  irdl.operation @conv_bytes {
    %input = irdl.base "!builtin.tensor"
    %weights = irdl.base "!builtin.tensor"
    %bias = irdl.base "!builtin.tensor"
    %dest = irdl.base "!builtin.tensor"
    %result = irdl.base "!builtin.tensor"
    %kernel = irdl.base "#builtin.dense_array"
    %strides = irdl.base "#builtin.dense_array"
    %dilations = irdl.base "#builtin.dense_array"
    %pads = irdl.base "#builtin.dense_array"
    %channels = irdl.base "#builtin.integer"
    %groups = irdl.base "#builtin.integer"
    %panel = irdl.base "#builtin.integer"
    %signed = irdl.base "#builtin.integer"
    %dot = irdl.base "#builtin.string"
    irdl.operands(input: %input, weights: %weights, bias: %bias, dest: optional %dest)
    irdl.results(result: %result)
    irdl.attributes {
      "kernel" = %kernel, "strides" = %strides, "dilations" = %dilations,
      "pads" = %pads, "channels" = %channels, "groups" = %groups,
      "panel" = %panel, "signed" = %signed, "dot" = %dot
    }
  }

  // krnl.conv_bytes for tiles of AMX, without groups: weights, of bytes in words,
  // are [ceil(K / 32)][R][S][ceil(C / 64)][2][16][16][4], output channels being
  // 32 to a panel and 16 to a tile, and input channels 4 to a row of one.
  irdl.operation @conv_tiles {
    %input = irdl.base "!builtin.tensor"
    %weights = irdl.base "!builtin.tensor"
    %bias = irdl.base "!builtin.tensor"
    %dest = irdl.base "!builtin.tensor"
    %result = irdl.base "!builtin.tensor"
    %kernel = irdl.base "#builtin.dense_array"
    %strides = irdl.base "#builtin.dense_array"
    %dilations = irdl.base "#builtin.dense_array"
    %pads = irdl.base "#builtin.dense_array"
    %channels = irdl.base "#builtin.integer"
    %signed = irdl.base "#builtin.integer"
    irdl.operands(input: %input, weights: %weights, bias: %bias, dest: optional %dest)
    irdl.results(result: %result)
    irdl.attributes {
      "kernel" = %kernel, "strides" = %strides, "dilations" = %dilations,
      "pads" = %pads, "channels" = %channels, "signed" = %signed
    }
  }

  // krnl.depthwise of bytes, types as krnl.conv_bytes. Weights
  // [C/b][R][ceil(S/4)][1 or 2][b] of words for four taps of a channel.
  irdl.operation @depthwise_bytes {
    %input = irdl.base "!builtin.tensor"
    %weights = irdl.base "!builtin.tensor"
    %bias = irdl.base "!builtin.tensor"
    %dest = irdl.base "!builtin.tensor"
    %result = irdl.base "!builtin.tensor"
    %kernel = irdl.base "#builtin.dense_array"
    %strides = irdl.base "#builtin.dense_array"
    %dilations = irdl.base "#builtin.dense_array"
    %pads = irdl.base "#builtin.dense_array"
    %signed = irdl.base "#builtin.integer"
    %dot = irdl.base "#builtin.string"
    irdl.operands(input: %input, weights: %weights, bias: %bias, dest: optional %dest)
    irdl.results(result: %result)
    irdl.attributes {
      "kernel" = %kernel, "strides" = %strides, "dilations" = %dilations,
      "pads" = %pads, "signed" = %signed, "dot" = %dot
    }
  }

  // A plain or packed image of bytes as a packed one, whose blocks may be of
  // other sizes when the input is plain, with a border of bytes `value`: pads
  // top, left, bottom, right. Lanes at or above C hold anything.
  irdl.operation @pack_bytes {
    %input = irdl.base "!builtin.tensor"
    %dest = irdl.base "!builtin.tensor"
    %result = irdl.base "!builtin.tensor"
    %pads = irdl.base "#builtin.dense_array"
    %value = irdl.base "#builtin.integer"
    irdl.operands(input: %input, dest: optional %dest)
    irdl.results(result: %result)
    irdl.attributes {"pads" = %pads, "value" = %value}
  }

  // Convolution with 3x3 windows by Winograd's minimal filtering: tiles of
  // t x t pixels of the result (t = `tile`, 2 or 4) from (t + 2)^2 products.
  // Tiles of all images are numbered row by row and lie in blocks of `block`.
  //
  // Input in products: [tiles / block][(t + 2)^2][(C/b) * block * b + b],
  // every last b elements unused. pads as of krnl.conv.
  irdl.operation @winograd_input {
    %input = irdl.base "!builtin.tensor"
    %dest = irdl.base "!builtin.tensor"
    %result = irdl.base "!builtin.tensor"
    %tile = irdl.base "#builtin.integer"
    %block = irdl.base "#builtin.integer"
    %pads = irdl.base "#builtin.dense_array"
    irdl.operands(input: %input, dest: optional %dest)
    irdl.results(result: %result)
    irdl.attributes {"tile" = %tile, "block" = %block, "pads" = %pads}
  }

  // Weights of krnl.conv in products: panel by panel
  // [(t + 2)^2][C * p*b + b], p blocks in the panel, the last b unused.
  irdl.operation @winograd_weights {
    %weights = irdl.base "!builtin.tensor"
    %dest = irdl.base "!builtin.tensor"
    %result = irdl.base "!builtin.tensor"
    %tile = irdl.base "#builtin.integer"
    %channels = irdl.base "#builtin.integer"
    %panel = irdl.base "#builtin.integer"
    irdl.operands(weights: %weights, dest: optional %dest)
    irdl.results(result: %result)
    irdl.attributes {"tile" = %tile, "channels" = %channels, "panel" = %panel}
  }

  // The products, summed over channels, back to a packed image. The input may
  // also be the packed image itself, which is then transformed block by block
  // in memory of the kernel (fused: for images larger than the cache).
  irdl.operation @winograd {
    %input = irdl.base "!builtin.tensor"
    %weights = irdl.base "!builtin.tensor"
    %bias = irdl.base "!builtin.tensor"
    %dest = irdl.base "!builtin.tensor"
    %result = irdl.base "!builtin.tensor"
    %tile = irdl.base "#builtin.integer"
    %block = irdl.base "#builtin.integer"
    %channels = irdl.base "#builtin.integer"
    %panel = irdl.base "#builtin.integer"
    %pads = irdl.base "#builtin.dense_array"
    irdl.operands(input: %input, weights: %weights, bias: %bias,
                  dest: optional %dest)
    irdl.results(result: %result)
    irdl.attributes {
      "tile" = %tile, "block" = %block, "channels" = %channels,
      "panel" = %panel, "pads" = %pads
    }
  }

  // One filter per channel. Weights [C/b][R][S][b], bias [C/b][b].
  irdl.operation @depthwise {
    %input = irdl.base "!builtin.tensor"
    %weights = irdl.base "!builtin.tensor"
    %bias = irdl.base "!builtin.tensor"
    %dest = irdl.base "!builtin.tensor"
    %result = irdl.base "!builtin.tensor"
    %kernel = irdl.base "#builtin.dense_array"
    %strides = irdl.base "#builtin.dense_array"
    %dilations = irdl.base "#builtin.dense_array"
    %pads = irdl.base "#builtin.dense_array"
    irdl.operands(input: %input, weights: %weights, bias: %bias, dest: optional %dest)
    irdl.results(result: %result)
    irdl.attributes {
      "kernel" = %kernel, "strides" = %strides, "dilations" = %dilations,
      "pads" = %pads
    }
  }

  // Pixels that a convolution computed as channels to their places: input
  // [N][sy*sx*(K/b)][H][W][b], strides sy, sx; pixel y, x of the result is
  // pixel (y+py)/sy, (x+px)/sx of channel group (y+py)%sy, (x+px)%sx.
  irdl.operation @interleave {
    %input = irdl.base "!builtin.tensor"
    %dest = irdl.base "!builtin.tensor"
    %result = irdl.base "!builtin.tensor"
    %strides = irdl.base "#builtin.dense_array"
    %starts = irdl.base "#builtin.dense_array"
    irdl.operands(input: %input, dest: optional %dest)
    irdl.results(result: %result)
    irdl.attributes {"strides" = %strides, "starts" = %starts}
  }

  // The first `channels` channels of the input, zeros for all others of the
  // result (lanes beyond its channels included).
  irdl.operation @widen {
    %input = irdl.base "!builtin.tensor"
    %dest = irdl.base "!builtin.tensor"
    %result = irdl.base "!builtin.tensor"
    %channels = irdl.base "#builtin.integer"
    irdl.operands(input: %input, dest: optional %dest)
    irdl.results(result: %result)
    irdl.attributes {"channels" = %channels}
  }

  // Maximum or average of a window. kind: "max", "average" (of the elements
  // in the image) or "average_padded" (the padding counts as zeros; what a
  // result's rounding up adds beyond it does not); "max_u8", "max_i8": of bytes.
  // Kernel sizes 0: the whole image.
  irdl.operation @pool {
    %input = irdl.base "!builtin.tensor"
    %dest = irdl.base "!builtin.tensor"
    %result = irdl.base "!builtin.tensor"
    %kind = irdl.base "#builtin.string"
    %kernel = irdl.base "#builtin.dense_array"
    %strides = irdl.base "#builtin.dense_array"
    %dilations = irdl.base "#builtin.dense_array"
    %pads = irdl.base "#builtin.dense_array"
    irdl.operands(input: %input, dest: optional %dest)
    irdl.results(result: %result)
    irdl.attributes {
      "kind" = %kind, "kernel" = %kernel, "strides" = %strides,
      "dilations" = %dilations, "pads" = %pads
    }
  }

  // dest[..., M, N] = a[..., M, K] * b[..., K, N], batch dims broadcast.
  // trans_a = 1: a is [..., K, M]. b = "rows": as above; "columns": [..., N, K];
  // "panels": a constant [..., P, K, width], see fe_contract_pack; "fixed": of K =
  // `depth` rows, in fixed point, see fe_fixed_pack. f64, or sums of f32: a and b
  // f32, or b of 16 bits, widened; or both bf16 (b f32: rounded), by dot products
  // of pairs: rows of a are of even length, filled up with a zero, "panels" [...,
  // P, ceil(K / 2), 2 * width].
  irdl.operation @contract {
    %a = irdl.base "!builtin.tensor"
    %b = irdl.base "!builtin.tensor"
    %dest = irdl.base "!builtin.tensor"
    %result = irdl.base "!builtin.tensor"
    %integer = irdl.base "#builtin.integer"
    %string = irdl.base "#builtin.string"
    irdl.operands(a: %a, b: %b, dest: %dest)
    irdl.results(result: %result)
    irdl.attributes {"trans_a" = %integer, "b" = %string}
  }

  // The same of integers of 8 or 16 bits, several along K in each element of
  // 32 bits: a is [..., M, K'], b panels [..., P, K', width], the sums i32.
  // dot = "bytes": four bytes, those of a unsigned, those of b signed; "pairs":
  // two signed numbers of 16 bits.
  irdl.operation @integer_contract {
    %a = irdl.base "!builtin.tensor"
    %b = irdl.base "!builtin.tensor"
    %dest = irdl.base "!builtin.tensor"
    %result = irdl.base "!builtin.tensor"
    %string = irdl.base "#builtin.string"
    irdl.operands(a: %a, b: %b, dest: %dest)
    irdl.results(result: %result)
    irdl.attributes {"dot" = %string}
  }

  // Along dim `axis` of x. kind = "softmax", "log_softmax", "layer_norm",
  // "rms_norm". Norms: y = (x - mean) / sqrt(variance + epsilon) * scale + bias,
  // the parameters scale and bias (0, 1 or 2 operands) have one dim, the
  // axis; rms_norm has no mean and no bias. f32.
  irdl.operation @row {
    %x = irdl.base "!builtin.tensor"
    %parameter = irdl.base "!builtin.tensor"
    %dest = irdl.base "!builtin.tensor"
    %result = irdl.base "!builtin.tensor"
    %integer = irdl.base "#builtin.integer"
    %float = irdl.base "#builtin.float"
    %string = irdl.base "#builtin.string"
    irdl.operands(x: %x, parameters: variadic %parameter, dest: %dest)
    irdl.results(result: %result)
    irdl.attributes {"kind" = %string, "axis" = %integer, "epsilon" = %float}
  }

  // Dim i of the result is dim permutation[i] of x. Any element type.
  irdl.operation @transpose {
    %x = irdl.base "!builtin.tensor"
    %dest = irdl.base "!builtin.tensor"
    %result = irdl.base "!builtin.tensor"
    %permutation = irdl.any
    irdl.operands(x: %x, dest: %dest)
    irdl.results(result: %result)
    irdl.attributes {"permutation" = %permutation}
  }

  // softmax(scale * q k^T [+ mask]) v for every batch and head. layouts: of q,
  // k, v and the result, one letter per dim: b batch, s sequence, h heads, d
  // the elements of a head, which must be last; "bshd" spares transposes. A dim
  // t holds several of q, k, v: `pick` says which (of q, k, v). k and v may
  // have fewer heads. causal = 1: query i sees keys up to i + keys - queries.
  // The mask is added, [b, h, queries, keys] or fewer dims, 1 is broadcast. f32.
  irdl.operation @attention {
    %q = irdl.base "!builtin.tensor"
    %k = irdl.base "!builtin.tensor"
    %v = irdl.base "!builtin.tensor"
    %dest = irdl.base "!builtin.tensor"
    %result = irdl.base "!builtin.tensor"
    %float = irdl.base "#builtin.float"
    %causal = irdl.base "#builtin.integer"
    %layouts = irdl.base "#builtin.array"
    %pick = irdl.base "#builtin.dense_array"
    irdl.operands(q: %q, k: %k, v: %v, dest: optional %dest)
    irdl.results(result: %result)
    irdl.attributes {"scale" = %float, "causal" = %causal,
      "layouts" = %layouts, "pick" = %pick
    }
  }

  irdl.operation @attention_masked {
    %q = irdl.base "!builtin.tensor"
    %k = irdl.base "!builtin.tensor"
    %v = irdl.base "!builtin.tensor"
    %mask = irdl.base "!builtin.tensor"
    %dest = irdl.base "!builtin.tensor"
    %result = irdl.base "!builtin.tensor"
    %float = irdl.base "#builtin.float"
    %causal = irdl.base "#builtin.integer"
    %layouts = irdl.base "#builtin.array"
    %pick = irdl.base "#builtin.dense_array"
    irdl.operands(q: %q, k: %k, v: %v, mask: %mask, dest: optional %dest)
    irdl.results(result: %result)
    irdl.attributes {"scale" = %float, "causal" = %causal,
      "layouts" = %layouts, "pick" = %pick
    }
  }

  // The same for each sequence of the batch on its own: its first query sees
  // frontiers[b] keys (i64), every other one, if causal, one more than the
  // query before; of these the last `window` ones, where that is not 0. softcap:
  // scores s become softcap * tanh(s / softcap) before the mask, if not 0.
  // sinks: [heads], scores of one more key each, whose value is 0. A query that
  // sees no key gives zeros. k and v: f32, f16 or bf16.
  irdl.operation @attention_cached {
    %q = irdl.base "!builtin.tensor"
    %k = irdl.base "!builtin.tensor"
    %v = irdl.base "!builtin.tensor"
    %frontiers = irdl.base "!builtin.tensor"
    %mask = irdl.base "!builtin.tensor"
    %sinks = irdl.base "!builtin.tensor"
    %dest = irdl.base "!builtin.tensor"
    %result = irdl.base "!builtin.tensor"
    %scale = irdl.base "#builtin.float"
    %softcap = irdl.base "#builtin.float"
    %causal = irdl.base "#builtin.integer"
    %window = irdl.base "#builtin.integer"
    %masked = irdl.base "#builtin.integer"
    %sink = irdl.base "#builtin.integer"
    %layouts = irdl.base "#builtin.array"
    %pick = irdl.base "#builtin.dense_array"
    irdl.operands(q: %q, k: %k, v: %v, frontiers: %frontiers,
                  mask: optional %mask, sinks: optional %sinks, dest: %dest)
    irdl.results(result: %result)
    irdl.attributes {"scale" = %scale, "softcap" = %softcap,
      "causal" = %causal, "window" = %window, "masked" = %masked,
      "sink" = %sink, "layouts" = %layouts, "pick" = %pick
    }
  }
}
