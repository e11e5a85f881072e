//===- math.c - the math library linked into models
//------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every function is one basic block once optimized (selects, no branches, no
// calls), so that LLVM's vectorizer and emit's own widening can make vectors
// of it. They need the default rounding mode and no compiler fast-math; fused
// multiply-add is used where the target has it.
//
// Largest error over all floats, in units in the last place (of the exact
// value), with / without FMA; test/runtime/math_test.c holds them to it:
//
//   exp 1.0   expm1 1.5  log 1.0   log1p 1.5  tanh 2.5  erf 1.5
//   exp2, exp10, log2, log10, pow, sin, cos, tan 0.51 (computed in double)
//
// Infinities, NaN, signed zeros and denormals as in C17 annex F, without
// exception flags.
//
// Methods: argument reduction after Cody and Waite, Software Manual for the
// Elementary Functions (1980); polynomials by the Remez algorithm
// (runtime/fit/minimax.py prints all coefficients); reduction of large
// arguments of sin, cos after Payne and Hanek (1983), with the multiples of
// 2/pi tabulated per exponent; log1p's correction term as in Kahan's work.
//
//===----------------------------------------------------------------------===//
#include "mathlib.h"

#include <stdint.h>

#pragma STDC FP_CONTRACT ON

#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")

static inline uint32_t bits(float x) {
  uint32_t u;
  __builtin_memcpy(&u, &x, sizeof u);
  return u;
}

static inline float from_bits(uint32_t u) {
  float x;
  __builtin_memcpy(&x, &u, sizeof x);
  return x;
}

static inline uint64_t bits64(double x) {
  uint64_t u;
  __builtin_memcpy(&u, &x, sizeof u);
  return u;
}

static inline double from_bits64(uint64_t u) {
  double x;
  __builtin_memcpy(&x, &u, sizeof x);
  return x;
}

static inline uint32_t sign_of(float x) { return bits(x) & 0x80000000u; }
static inline float with_sign(float x, uint32_t sign) {
  return from_bits(bits(x) | sign);
}

//===-- exp and its kin
//----------------------------------------------------===//

// Adding 1.5 * 2^23 rounds to an integer, whose bits are then the lowest ones.
#define ROUND_F 12582912.0f
#define ROUND_D 6755399441055744.0
#define LOG2E 1.44269504f
// ln 2 in two parts; the first has 15 bits, so that n * LN2_HI is exact.
#define LN2_HI 0.693145752f
#define LN2_LO 1.42860677e-6f

/// x = n ln 2 + r, |r| <= ln 2 / 2. `n` also as integer in the low bits of *in.
static inline float reduce_exp(float x, float *n, uint32_t *in) {
  float t = x * LOG2E + ROUND_F;
  *in = bits(t) - bits(ROUND_F);
  *n = t - ROUND_F;
  return (x - *n * LN2_HI) - *n * LN2_LO;
}

static inline float exp_poly(float r) {
  float p = 0.00138365466f;
  p = p * r + 0.00836913474f;
  p = p * r + 0.0416681059f;
  p = p * r + 0.166665167f;
  p = p * r + 0.49999994f;
  return (r * r) * p + r + 1.0f;
}

static inline float expm1_poly(float r) {
  float p = 0.000199103073f;
  p = p * r + 0.00139464997f;
  p = p * r + 0.00833338965f;
  p = p * r + 0.0416663587f;
  p = p * r + 0.166666657f;
  p = p * r + 0.5f;
  return (r * r) * p + r;
}

/// 2^n for a normal result.
static inline float pow2i(uint32_t n) { return from_bits((n + 127u) << 23); }

float fe_expf(float x) {
  float n;
  uint32_t in;
  float r = reduce_exp(x, &n, &in);
  // 2^n in two factors: n may be 128, or below -126 for a denormal result.
  uint32_t half = (uint32_t)((int32_t)in >> 1);
  float y = exp_poly(r) * pow2i(half) * pow2i(in - half);
  y = x > 88.7228394f ? INFINITY : y;
  return x < -103.972084f ? 0.0f : y;
}

/// For x in [-80, 89]. The scale is halved, so that 2^128 is none.
static inline float expm1_core(float x) {
  float n;
  uint32_t in;
  float r = reduce_exp(x, &n, &in);
  float s = pow2i(in - 1u);
  return 2.0f * (s * expm1_poly(r) + (s - 0.5f));
}

float fe_expm1f(float x) {
  float t = x < -18.0f ? -18.0f : x; // the result is -1 there
  t = t > 89.0f ? 89.0f : t;         // overflows
  float y = expm1_core(t);
  return __builtin_fabsf(x) < 0x1p-26f ? x : y;
}

float fe_tanhf(float x) {
  float a = __builtin_fabsf(x);
  a = a > 9.1f ? 9.1f : a; // tanh is 1 from 9.01 on
  float t = expm1_core(2.0f * a);
  return with_sign(t / (t + 2.0f), sign_of(x));
}

float fe_erff(float x) {
  float a = __builtin_fabsf(x), s = x * x;
  float p = 7.99664995e-05f;
  p = p * s - 0.000804976968f;
  p = p * s + 0.00519240508f;
  p = p * s - 0.0268557314f;
  p = p * s + 0.112836257f;
  p = p * s - 0.376126289f;
  p = p * s + 0.128379166f;
  float near = x + x * p;
  // 1 - exp(-t - t Q(t)), whose second term is small against 1.
  float t = a > 4.0f ? 4.0f : a;
  float q = 1.12295902e-05f;
  q = q * t - 0.000322793028f;
  q = q * t + 0.00364242913f;
  q = q * t - 0.0237620194f;
  q = q * t + 0.106236845f;
  q = q * t + 0.635151327f;
  q = q * t + 0.12864849f;
  float n;
  uint32_t in;
  float r = reduce_exp(-(t * q + t), &n, &in);
  float far = with_sign(1.0f - exp_poly(r) * pow2i(in), sign_of(x));
  return a > 0.92f ? far : near;
}

//===-- log and its kin
//----------------------------------------------------===//

/// log(1 + f), sqrt(1/2) - 1 < f < sqrt(2) - 1, as f - f^2/2 + the result.
static inline float log_poly(float f) {
  float p = 0.07125476f;
  p = p * f - 0.11960645f;
  p = p * f + 0.118737303f;
  p = p * f - 0.123580284f;
  p = p * f + 0.142151818f;
  p = p * f - 0.166704372f;
  p = p * f + 0.200024262f;
  p = p * f - 0.249999732f;
  p = p * f + 0.333333075f;
  return (f * f) * f * p;
}

// Bits of sqrt(1/2): the mantissa is taken in [sqrt(1/2), sqrt(2)).
#define SQRT_HALF 0x3f3504f3u

float fe_logf(float x) {
  int tiny = x < 0x1p-126f;
  uint32_t u = bits(tiny ? x * 0x1p23f : x) - SQRT_HALF;
  float k = (float)((int32_t)u >> 23) - (tiny ? 23.0f : 0.0f);
  float f = from_bits((u & 0x7fffffu) + SQRT_HALF) - 1.0f;
  float y = log_poly(f) + k * LN2_LO;
  y = y - 0.5f * f * f + f + k * LN2_HI;
  y = x == INFINITY ? x : y;
  y = x == 0.0f ? -INFINITY : y;
  return x >= 0.0f ? y : NAN;
}

float fe_log1pf(float x) {
  float s = 1.0f + x;
  uint32_t u = bits(s) - SQRT_HALF;
  int32_t ik = (int32_t)u >> 23;
  float k = (float)ik;
  // What 1 + x lost, to be added to the logarithm as c / s.
  float c = ik >= 2 ? 1.0f - (s - x) : x - (s - 1.0f);
  c = ik >= 24 ? 0.0f : c / s;
  float f = from_bits((u & 0x7fffffu) + SQRT_HALF) - 1.0f;
  f = ik == 0 ? x : f;
  c = ik == 0 ? 0.0f : c;
  float y = log_poly(f) + (k * LN2_LO + c);
  y = y - 0.5f * f * f + f + k * LN2_HI;
  y = x == INFINITY ? x : y;
  y = x == -1.0f ? -INFINITY : y;
  y = x == 0.0f ? x : y;
  return x >= -1.0f ? y : NAN;
}

/// log2 of a positive finite float; relative error 2^-44.
static inline double log2_core(float x) {
  int tiny = x < 0x1p-126f;
  uint32_t u = bits(tiny ? x * 0x1p23f : x) - SQRT_HALF;
  int32_t k = ((int32_t)u >> 23) - (tiny ? 23 : 0);
  double m = from_bits((u & 0x7fffffu) + SQRT_HALF);
  double s = (m - 1.0) / (m + 1.0), z = s * s;
  double p = 0.28293053358199327;
  p = p * z + 0.31990369498103211;
  p = p * z + 0.41220929784618271;
  p = p * z + 0.57707794195284701;
  p = p * z + 0.96179669411459434;
  p = p * z + 2.8853900817778495;
  return s * p + (double)k;
}

/// log2 with its special values, of |x|.
static inline double log2_abs(float x) {
  float a = __builtin_fabsf(x);
  double y = log2_core(a);
  y = a == INFINITY ? (double)INFINITY : y;
  y = a == 0.0f ? -(double)INFINITY : y;
  return a != a ? (double)a : y;
}

float fe_log2f(float x) {
  float y = (float)log2_abs(x);
  return x < 0.0f ? NAN : y;
}

float fe_log10f(float x) {
  float y = (float)(log2_abs(x) * 0.30102999566398120);
  return x < 0.0f ? NAN : y;
}

/// 2^x to float precision; relative error 2^-31.
static inline double exp2_core(double x) {
  x = x < -160.0 ? -160.0 : x; // NaN stays
  x = x > 140.0 ? 140.0 : x;
  double t = x + ROUND_D;
  double r = x - (t - ROUND_D);
  double p = 1.335987092187615e-05;
  p = p * r + 0.0001546148325807558;
  p = p * r + 0.0013341967847614825;
  p = p * r + 0.0096180566310397862;
  p = p * r + 0.055504003332227936;
  p = p * r + 0.24022650922125383;
  p = p * r + 0.69314718383643337;
  p = p * r + 1.0;
  uint64_t n = bits64(t) - bits64(ROUND_D);
  return p * from_bits64((n + 1023u) << 52);
}

float fe_exp2f(float x) { return (float)exp2_core(x); }

float fe_exp10f(float x) {
  return (float)exp2_core((double)x * 3.3219280948873623);
}

float fe_powf(float x, float y) {
  double l = log2_abs(x);
  // 1^y and x^0 are 1, whatever the other one is.
  double e = l == 0.0 ? 0.0 : (double)y * l;
  e = y == 0.0f ? 0.0 : e;
  float z = (float)exp2_core(e);
  float half = y * 0.5f;
  int whole = __builtin_rintf(y) == y,
      odd = whole & (__builtin_rintf(half) != half);
  z = from_bits(bits(z) | (odd ? sign_of(x) : 0u));
  z = ((x < 0.0f) & (x != -INFINITY) & !whole) ? NAN : z;
  z = y != y ? y : z;
  return ((x == 1.0f) | (y == 0.0f)) ? 1.0f : z;
}

//===-- sin, cos, tan
//------------------------------------------------------===//

// 2^e * 2/pi mod 4: 29 bits and the rest. The product of the first with a
// float's mantissa is exact in double.
static const double two_over_pi[105][2] = {
    {0.6366197690367699, 3.330811476132176e-09},
    {1.2732395380735397, 6.661622952264352e-09},
    {2.54647908359766, 5.872665307604874e-09},
    {1.0929581746459007, 4.294750018285921e-09},
    {2.185916356742382, 1.138919439648014e-09},
    {0.3718327134847641, 2.277838879296028e-09},
    {0.7436654269695282, 4.555677758592056e-09},
    {1.487330861389637, 1.6607749202602838e-09},
    {2.974661722779274, 3.3215498405205676e-09},
    {1.949323445558548, 6.643099681041135e-09},
    {3.8986468985676765, 5.8356187651584414e-09},
    {3.7972938045859337, 4.2206569333930555e-09},
    {3.594587616622448, 9.907332698622821e-10},
    {3.189175233244896, 1.9814665397245642e-09},
    {2.378350466489792, 3.9629330794491285e-09},
    {0.7567009404301643, 4.752855619744297e-10},
    {1.5134018808603287, 9.505711239488593e-10},
    {3.0268037617206573, 1.9011422478977186e-09},
    {2.0536075234413147, 3.802284495795437e-09},
    {0.10721505433320999, 1.5398839466704606e-10},
    {0.21443010866641998, 3.0797678933409213e-10},
    {0.42886021733283997, 6.159535786681843e-10},
    {0.8577204346656799, 1.2319071573363685e-09},
    {1.7154408693313599, 2.463814314672737e-09},
    {3.4308817386627197, 4.927628629345474e-09},
    {2.86176348477602, 2.4046766617671204e-09},
    {1.72352696955204, 4.809353323534241e-09},
    {3.447053946554661, 2.1681260501446532e-09},
    {2.8941078931093216, 4.3362521002893065e-09},
    {1.7882157936692238, 1.2219236036547852e-09},
    {3.5764315873384476, 2.4438472073095704e-09},
    {3.152863174676895, 4.887694414619141e-09},
    {2.305726356804371, 2.3248082323144544e-09},
    {0.6114527136087418, 4.649616464628909e-09},
    {1.2229054346680641, 1.848652332333989e-09},
    {2.4458108693361282, 3.697304664667978e-09},
    {0.8916217386722565, 7.394609329335956e-09},
    {1.7832434847950935, 7.338638061748084e-09},
    {3.5664869770407677, 7.226695526572339e-09},
    {3.132973961532116, 7.0028104562208505e-09},
    {2.2659479305148125, 6.555040315517873e-09},
    {0.5318958684802055, 5.659500034111918e-09},
    {1.0637917444109917, 3.868419471300007e-09},
    {2.127583496272564, 2.8625834567618517e-10},
    {0.25516699254512787, 5.725166913523703e-10},
    {0.5103339850902557, 1.1450333827047407e-09},
    {1.0206679701805115, 2.2900667654094814e-09},
    {2.041335940361023, 4.580133530818963e-09},
    {0.0826718881726265, 1.709686464714098e-09},
    {0.165343776345253, 3.419372929428196e-09},
    {0.330687552690506, 6.838745858856392e-09},
    {0.6613751128315926, 6.226911120788957e-09},
    {1.3227502331137657, 5.003241644654086e-09},
    {2.645500473678112, 2.555902692384343e-09},
    {1.291000947356224, 5.111805384768686e-09},
    {2.5820019021630287, 2.773030172613544e-09},
    {1.1640038043260574, 5.546060345227088e-09},
    {2.3280076161026955, 3.6415400935303494e-09},
    {0.6560152322053909, 7.283080187060699e-09},
    {1.3120304718613625, 7.1155797771975685e-09},
    {2.6240609511733055, 6.780578957471309e-09},
    {1.2481219097971916, 6.11057731801879e-09},
    {2.496243827044964, 4.770574039113752e-09},
    {0.9924876615405083, 2.090567481303676e-09},
    {1.9849753230810165, 4.181134962607352e-09},
    {3.9699506536126137, 9.116893282908753e-10},
    {3.9399013072252274, 1.8233786565817506e-09},
    {3.8798026144504547, 3.646757313163501e-09},
    {3.7596052289009094, 7.293514626327002e-09},
    {3.5192104652523994, 7.136448655730177e-09},
    {3.0384209379553795, 6.822316714536525e-09},
    {2.0768418833613396, 6.194052832149223e-09},
    {0.15368377417325974, 4.937525067374619e-09},
    {0.30736755579710007, 2.4244695378254084e-09},
    {0.6147351115942001, 4.848939075650817e-09},
    {1.2294702306389809, 2.247297554377806e-09},
    {2.4589404612779617, 4.494595108755612e-09},
    {0.9178809300065041, 1.538609620587396e-09},
    {1.8357618600130081, 3.077219241174792e-09},
    {3.6715237200260162, 6.154438482349584e-09},
    {3.343047447502613, 4.8582963677753385e-09},
    {2.6860949024558067, 2.2660121386268493e-09},
    {1.3721898049116135, 4.532024277253699e-09},
    {2.7443796172738075, 1.613467957583569e-09},
    {1.488759234547615, 3.226935915167138e-09},
    {2.97751846909523, 6.453871830334276e-09},
    {1.9550369456410408, 5.457163063744724e-09},
    {3.910073898732662, 3.4637455305656194e-09},
    {3.8201477974653244, 6.927491061131239e-09},
    {3.6402956023812294, 6.40440152533865e-09},
    {3.2805912122130394, 5.3582224537534715e-09},
    {2.5611824318766594, 3.265864310583115e-09},
    {1.1223648637533188, 6.53172862116623e-09},
    {2.244729734957218, 5.612876645408631e-09},
    {0.48945947736501694, 3.7751726938934354e-09},
    {0.9789189621806145, 9.976479086304255e-11},
    {1.957837924361229, 1.995295817260851e-10},
    {3.915675848722458, 3.990591634521702e-10},
    {3.8313516974449158, 7.981183269043404e-10},
    {3.6627033948898315, 1.5962366538086808e-09},
    {3.325406789779663, 3.1924733076173616e-09},
    {2.650813579559326, 6.384946615234723e-09},
    {1.301627166569233, 5.319312633545618e-09},
    {2.6032543405890465, 3.188044670167408e-09},
    {1.206508681178093, 6.376089340334816e-09},
};

/// x = (q + r) pi/2 for an integer q, its low bits in *quadrant; |r| <= 1/2.
static inline double reduce_pi(float x, uint32_t *quadrant) {
  // |x| = y 2^e with y < 2^24, exactly.
  int32_t e = (int32_t)(bits(x) >> 23 & 0xff) - 150;
  e = e < 0 ? 0 : e;
  e = e > 104 ? 104 : e;
  double y =
      (double)__builtin_fabsf(x) * from_bits64((uint64_t)(1023 - e) << 52);
  double hi = y * two_over_pi[e][0], lo = y * two_over_pi[e][1];
  double t = hi + lo + ROUND_D;
  *quadrant = (uint32_t)bits64(t);
  return hi - (t - ROUND_D) + lo;
}

static inline double sin_poly(double r) {
  double z = r * r;
  double p = 0.00015819058523850086;
  p = p * z - 0.0046812586472704722;
  p = p * z + 0.079692581574815902;
  p = p * z - 0.64596409609108407;
  p = p * z + 1.5707963267876777;
  return p * r;
}

static inline double cos_poly(double r) {
  double z = r * r;
  double p = 0.00090373523256869447;
  p = p * z - 0.020860151629963349;
  p = p * z + 0.25366922423646271;
  p = p * z - 1.2337005425356378;
  return p * z + 1.0;
}

float fe_sinf(float x) {
  uint32_t q;
  double r = reduce_pi(x, &q);
  double s = sin_poly(r), c = cos_poly(r);
  float y = (float)(q & 1 ? c : s);
  y = from_bits(bits(y) ^ (q & 2) << 30 ^ sign_of(x));
  return x == 0.0f ? x : y;
}

float fe_cosf(float x) {
  uint32_t q;
  double r = reduce_pi(x, &q);
  double s = sin_poly(r), c = cos_poly(r);
  float y = (float)(q & 1 ? s : c);
  return from_bits(bits(y) ^ ((q + 1) & 2) << 30);
}

float fe_tanf(float x) {
  uint32_t q;
  double r = reduce_pi(x, &q);
  double s = sin_poly(r), c = cos_poly(r);
  float y = (float)((q & 1 ? -c : s) / (q & 1 ? s : c));
  y = from_bits(bits(y) ^ sign_of(x));
  return x == 0.0f ? x : y;
}
