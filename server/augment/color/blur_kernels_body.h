// The kernels of a blur, which each blur kernel file includes once, after it has defined
// BlurSupported and kVectorBytes.
namespace penstock::augment {
namespace {

constexpr size_t kBlurLanes = kVectorBytes / sizeof(float);
constexpr size_t kVectors = 4;  // accumulators, so that their latencies overlap
constexpr size_t kStep = kVectors * kBlurLanes;

typedef float Vector __attribute__((vector_size(kVectorBytes)));
typedef float LooseVector __attribute__((vector_size(kVectorBytes), aligned(4), may_alias));

void Widen(const uint8_t* bytes, size_t count, float* out) {
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<float>(static_cast<int>(bytes[i]));
}

inline void AddProducts(const float* values, float weight, Vector* sums) {
  for (size_t v = 0; v < kVectors; ++v) {
    sums[v] += weight * *reinterpret_cast<const LooseVector*>(values + v * kBlurLanes);
  }
}

inline void Store(const Vector* sums, float* out) {
  for (size_t v = 0; v < kVectors; ++v) {
    *reinterpret_cast<LooseVector*>(out + v * kBlurLanes) = sums[v];
  }
}

void Across(const float* row, const float* weights, size_t taps, size_t channels, size_t count,
            float* out) {
  for (size_t i = 0; i < count; i += kStep) {
    Vector sums[kVectors] = {};
    for (size_t j = 0; j < taps; ++j) AddProducts(row + i + j * channels, weights[j], sums);
    Store(sums, out + i);
  }
}

void Down(const float* const* rows, const float* weights, size_t taps, size_t count, float* out) {
  for (size_t i = 0; i < count; i += kStep) {
    Vector sums[kVectors] = {};
    for (size_t j = 0; j < taps; ++j) AddProducts(rows[j] + i, weights[j], sums);
    Store(sums, out + i);
  }
}

void Round(const float* values, size_t count, float margin, uint8_t* __restrict out,
           uint8_t* __restrict near) {
  const float upper = 1.0f - margin;
  for (size_t i = 0; i < count; ++i) {
    const float raised = values[i] + 0.5f;
    const int whole = static_cast<int>(raised);
    const float rest = raised - static_cast<float>(whole);
    out[i] = static_cast<uint8_t>(whole);
    near[i] = static_cast<uint8_t>((rest < margin ? 1 : 0) | (rest > upper ? 1 : 0));
  }
}

void Chain(const float* const* rows, const uint32_t* at, const float* weights, size_t taps,
           size_t taps_down, size_t channels, float* out) {
  float sums[kChains] = {};
  for (size_t y = 0; y < taps_down; ++y) {
    const float* row = rows[y];
    for (size_t x = 0; x < taps; ++x, row += channels) {
      const float weight = *weights++;
      for (int i = 0; i < kChains; ++i) sums[i] = __builtin_fmaf(row[at[i]], weight, sums[i]);
    }
  }
  for (int i = 0; i < kChains; ++i) out[i] = sums[i];
}

}  // namespace

const BlurKernels PENSTOCK_BLUR_KERNELS = {
    PENSTOCK_BLUR_KERNELS_NAME, &BlurSupported, &Widen, &Across, &Down, &Round, &Chain};

}  // namespace penstock::augment
