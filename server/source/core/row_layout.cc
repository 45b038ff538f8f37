#include "server/source/core/row_layout.h"

#include <utility>

namespace penstock::source {

uint64_t Tensor::bytes() const {
  uint64_t bytes = base::ElementBytes(type);
  for (const uint32_t side : shape) bytes *= side;
  return bytes;
}

uint64_t RowLayout::bytes() const {
  uint64_t bytes = 0;
  for (const uint64_t block : blocks) bytes += block;
  return bytes;
}

void RowLayout::Add(absl::string_view name, base::DType type, std::vector<uint32_t> shape,
                    Length length) {
  Tensor tensor = {.name = std::string(name),
                   .type = type,
                   .shape = std::move(shape),
                   .block = static_cast<uint32_t>(blocks.size())};
  blocks.push_back(tensor.bytes());
  if (length == Length::kVariable) {
    tensor.lengths_block = static_cast<uint32_t>(blocks.size());
    blocks.push_back(sizeof(int32_t));
  }
  tensors.push_back(std::move(tensor));
}

const Tensor* RowLayout::image() const {
  if (tensors.empty()) return nullptr;
  const Tensor& first = tensors.front();
  const bool is_image = first.name == kImage && first.type == base::DType::kUInt8 &&
                        first.shape.size() == 3 && !first.lengths_block;
  return is_image ? &first : nullptr;
}

RowLayout ImageLayout(uint32_t height, uint32_t width, uint32_t channels) {
  RowLayout layout;
  layout.Add(kImage, base::DType::kUInt8, {height, width, channels});
  return layout;
}

}  // namespace penstock::source
