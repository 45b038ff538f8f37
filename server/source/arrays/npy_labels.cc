#include "server/source/arrays/npy_labels.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "server/source/arrays/token_check.h"
#include "server/source/arrays/token_format.h"

namespace penstock::source {
namespace {

constexpr int64_t kMostClasses = 65'536;

}  // namespace

absl::StatusOr<NpyLabels> NpyLabels::Make(std::unique_ptr<std::byte[]> bytes, uint64_t count,
                                          base::DType type, const std::string& path) {
  PENSTOCK_CHECK(IsTokenType(type));
  NpyLabels labels(std::move(bytes), count, type);
  if (type != base::DType::kUInt64) return labels;
  const auto bad = FirstBeyond(labels.bytes(), type, uint64_t{1} << 63);
  if (!bad) return labels;
  return absl::InvalidArgumentError(
      absl::StrCat("'", path, "': label ", *bad, " is ", static_cast<uint64_t>(labels.At(*bad)),
                   "; wanted at most ", std::numeric_limits<int64_t>::max()));
}

int64_t NpyLabels::At(uint64_t sample) const {
  PENSTOCK_CHECK(sample < count_);
  return TokenAt(bytes(), type_, sample);
}

std::span<const std::byte> NpyLabels::bytes() const {
  return {bytes_.get(), count_ * base::ElementBytes(type_)};
}

std::vector<std::string> NpyLabels::Classes() const {
  if (FirstBeyond(bytes(), type_, kMostClasses)) return {};
  int64_t greatest = 0;
  for (uint64_t i = 0; i < count_; ++i) greatest = std::max(greatest, At(i));
  std::vector<std::string> classes;
  for (int64_t c = 0; c <= greatest; ++c) classes.push_back(absl::StrCat(c));
  return classes;
}

}  // namespace penstock::source
