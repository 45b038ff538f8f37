// For any CPU. There are only 256 values, so each channel's results are a table.
#include <array>
#include <cstring>
#include <vector>

#include "client/finish/half.h"
#include "client/finish/kernels.h"

namespace penstock::finish {
namespace {

void Split(const uint8_t* pixels, size_t count, uint32_t channels, uint8_t* const* planes) {
  for (uint32_t c = 0; c < channels; ++c) {
    for (size_t i = 0; i < count; ++i) planes[c][i] = pixels[i * channels + c];
  }
}

float Normalised(int value, float mean, float stddev) {
  return (static_cast<float>(value) / 255.0f - mean) / stddev;
}

template <typename Element>
class TableConverter final : public Converter {
 public:
  template <typename Round>
  TableConverter(std::span<const Coefficients> parts, Round round) : tables_(parts.size()) {
    for (size_t part = 0; part < parts.size(); ++part) {
      for (size_t c = 0; c < parts[part].mean.size(); ++c) {
        tables_[part].emplace_back();
        for (int v = 0; v < 256; ++v) {
          tables_[part][c][v] = round(Normalised(v, parts[part].mean[c], parts[part].stddev[c]));
        }
      }
    }
  }

  void Convert(size_t part, const uint8_t* values, size_t count, std::byte* out) const override {
    const std::vector<Table>& tables = tables_[part];
    size_t c = 0;
    for (size_t i = 0; i < count; ++i) {
      std::memcpy(out + i * sizeof(Element), &tables[c][values[i]], sizeof(Element));
      if (++c == tables.size()) c = 0;
    }
  }

 private:
  using Table = std::array<Element, 256>;
  std::vector<std::vector<Table>> tables_;
};

std::unique_ptr<Converter> Prepare(Type type, std::span<const Coefficients> parts,
                                   size_t /*output_bytes*/) {
  switch (type) {
    case Type::kFloat32:
      return std::make_unique<TableConverter<float>>(parts, [](float x) { return x; });
    case Type::kFloat16:
      return std::make_unique<TableConverter<uint16_t>>(parts, ToHalf);
    case Type::kBFloat16:
      return std::make_unique<TableConverter<uint16_t>>(parts, ToBFloat16);
    case Type::kUInt8:
      break;
  }
  return nullptr;
}

template <typename Round>
void BlendTo(const float* a, float factor_a, const float* b, float factor_b, size_t count,
             std::byte* out, Round round) {
  for (size_t i = 0; i < count; ++i) {
    const auto element = round(a[i] * factor_a + b[i] * factor_b);
    std::memcpy(out + i * sizeof(element), &element, sizeof(element));
  }
}

void Blend(const float* a, float factor_a, const float* b, float factor_b, size_t count, Type type,
           std::byte* out) {
  if (type == Type::kFloat16) return BlendTo(a, factor_a, b, factor_b, count, out, ToHalf);
  if (type == Type::kBFloat16) return BlendTo(a, factor_a, b, factor_b, count, out, ToBFloat16);
  BlendTo(a, factor_a, b, factor_b, count, out, [](float x) { return x; });
}

}  // namespace

const Kernels kPortableKernels = {Split, Prepare, Blend};

}  // namespace penstock::finish
