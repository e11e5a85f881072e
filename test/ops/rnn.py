"""RNN, GRU, LSTM against ONNX Runtime."""
import numpy as np
from harness import Family, by_reference, by_runtime, model_of

f = Family("rnn", rtol=1e-4, atol=1e-5)
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
FUNCTIONS = {"RNN": 1, "GRU": 2, "LSTM": 3}


def case(op, T=5, B=3, I=4, H=6, D=1, bias=True, lens=False, initial=True,
         peep=False, fixed=(1, 2, 3, 7), dtype=np.float32, y=True, layout=0,
         known=True, **options):
    g = GATES[op] * H
    n = lambda *s: (f.normal(*s) * 0.5).astype(dtype)
    state = (B, D, H) if layout else (D, B, H)
    inputs = [n(B, T, I) if layout else n(T, B, I), n(D, g, I), n(D, g, H),
              n(D, 2 * g) if bias else None,
              f.integers(1, T + 1, B, dtype=np.int32) if lens else None,
              n(*state) if initial else None]
    if op == "LSTM":
        inputs += [n(*state) if initial else None,
                   n(D, 3 * H) if peep else None]
    while inputs[-1] is None:
        inputs.pop()
    constants = [i for i in fixed if i < len(inputs) and inputs[i] is not None]
    if layout:
        options.update(layout=1, reference="onnx")
    options["outputs"] = 3 if op == "LSTM" else 2
    if known:
        f.case(op, inputs, hidden_size=H, constants=constants, **options)
        return
    # The references want hidden_size.
    run = by_reference if options.pop("reference", None) else by_runtime
    model = model_of(op, inputs, hidden_size=H, **options)
    want = run(model, {f"in{i}": a for i, a in enumerate(inputs)
                       if a is not None})
    f.case(op, inputs, dynamic=True, want=want, **options)


for op in GATES:
    case(op)
    case(op, dynamic=[0, 4, 5, 6])
    case(op, fixed=(), lens=True)                    # weights of run time
    case(op, T=7, B=1, I=30, H=65, initial=False)
    case(op, D=2, direction="bidirectional", lens=True)
    case(op, direction="reverse", lens=True, bias=False)
    case(op, H=128, T=2, I=16, D=2, direction="bidirectional")
    case(op, B=9, lens=True, D=2, direction="bidirectional")
    case(op, B=6, dynamic=True)
    case(op, clip=0.3)
    case(op, layout=1)
    case(op, dtype=np.float64, reference="onnx")
    case(op, activations=["Relu", "Sigmoid", "Elu"][:FUNCTIONS[op]])
    case(op, activations=["LeakyRelu", "HardSigmoid", "ScaledTanh"]
         [:FUNCTIONS[op]], activation_alpha=[0.1, 0.3, 1.5],
         activation_beta=[0.4, 0.7])
    case(op, activations=["Softsign", "Softplus", "ThresholdedRelu"]
         [:FUNCTIONS[op]], activation_alpha=[0.2])
# Nothing says how many hidden units there are, until it runs.
for op in GATES:
    for H in 1, 6, 65:
        case(op, H=H, known=False)
        case(op, H=H, B=9, D=2, direction="bidirectional", lens=True,
             known=False)
    case(op, known=False, direction="reverse", bias=False, initial=False)
    case(op, known=False, layout=1)
    case(op, known=False, dtype=np.float64, reference="onnx")
case("GRU", known=False, linear_before_reset=1, H=65, lens=True)
case("GRU", known=False, linear_before_reset=1, bias=False)
case("LSTM", known=False, peep=True, input_forget=1)
case("LSTM", T=0, dynamic=[0], want=[
    np.zeros((0, 1, 3, 6), np.float32), np.zeros((1, 3, 6), np.float32),
    np.zeros((1, 3, 6), np.float32)], initial=False)
case("GRU", B=0, dynamic=[0], want=[np.zeros((5, 1, 0, 6), np.float32),
                                    np.zeros((1, 0, 6), np.float32)])
case("LSTM", peep=True)
case("LSTM", peep=True, direction="bidirectional", D=2, dynamic=[0])
case("LSTM", input_forget=1)
case("GRU", linear_before_reset=1)
case("GRU", linear_before_reset=1, bias=False, fixed=())
case("GRU", linear_before_reset=1, H=65, D=2, direction="bidirectional",
     lens=True)
f.refused("LSTM", [f.normal(5, 3, 4), f.normal(1, 24, 4), f.normal(1, 20, 6)],
          hidden_size=6, outputs=3)
# Weights whose shapes only the run knows, each too small in one dimension.
right = [(5, 3, 4), (1, 24, 4), (1, 24, 6), (1, 48), None, (1, 3, 6),
         (1, 3, 6), (1, 18)]
for i in (1, 2, 3, 5, 6, 7):
    for axis in range(len(right[i])):
        shapes = [list(s) if s else None for s in right]
        shapes[i][axis] -= 1
        for known in {"hidden_size": 6}, {}:
            f.refused("LSTM", [f.normal(*s) if s else None for s in shapes],
                      dynamic=True, run_time=True, **known)
f.done()
