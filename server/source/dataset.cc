#include "server/source/dataset.h"

#include "common/base/check.h"

namespace penstock::source {

// What a dataset does not have is not asked of it.

RowShape Dataset::row_shape() const {
  PENSTOCK_CHECK(storage() != Storage::kEncoded);
  return {};
}

std::unique_ptr<Dataset::Reader> Dataset::NewReader() const {
  PENSTOCK_CHECK(storage() == Storage::kEncoded);
  return nullptr;
}

absl::Status Dataset::CopyRows(std::span<const uint64_t>, std::byte*) const {
  PENSTOCK_CHECK(storage() == Storage::kRows);
  return absl::UnimplementedError("rows");
}

}  // namespace penstock::source
