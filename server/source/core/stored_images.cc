#include "server/source/core/stored_images.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock::source {
namespace {

// A tensor of one image of bytes; gray images may lack the side of their channel.
std::optional<RowShape> ToShape(const SampleField& field) {
  const std::vector<uint32_t>& sides = field.shape;
  if (field.name != kImage || field.type != base::DType::kUInt8 || field.variable) {
    return std::nullopt;
  }
  if (sides.size() != 2 && sides.size() != 3) return std::nullopt;
  const uint32_t channels = sides.size() == 2 ? 1 : sides[2];
  if (channels != 1 && channels != 3) return std::nullopt;
  return RowShape{sides[0], sides[1], channels};
}

class StoredImageReader : public Dataset::Reader {
 public:
  StoredImageReader(const Dataset& dataset, const RowShape& shape)
      : dataset_(dataset),
        header_(absl::StrCat(shape.channels == 1 ? "P5" : "P6", "\n", shape.width, " ",
                             shape.height, "\n255\n")),
        pixels_(shape.bytes()) {}

  absl::StatusOr<Opened> Open(uint64_t sample) override {
    sample_ = sample;
    return Opened{.bytes = header_.size() + pixels_};
  }

  absl::Status Read(std::span<std::byte> into) override {
    std::memcpy(into.data(), header_.data(), header_.size());
    const FieldRequest image = {.name = kImage};
    PENSTOCK_ASSIGN_OR_RETURN(const Selection selection, dataset_.Select({&image, 1}));
    std::byte* const pixels = into.data() + header_.size();
    return dataset_.CopyRows(selection, {&sample_, 1}, {&pixels, 1});
  }

 private:
  const Dataset& dataset_;
  const std::string header_;
  const uint64_t pixels_;
  uint64_t sample_ = 0;
};

}  // namespace

std::optional<RowShape> StoredImages(const Dataset& dataset) {
  if (dataset.storage() != Storage::kRows || dataset.packed()) return std::nullopt;
  for (const SampleField& field : dataset.fields()) {
    if (const std::optional<RowShape> shape = ToShape(field)) return shape;
  }
  return std::nullopt;
}

std::unique_ptr<Dataset::Reader> NewStoredImageReader(const Dataset& dataset) {
  return std::make_unique<StoredImageReader>(dataset, *StoredImages(dataset));
}

}  // namespace penstock::source
