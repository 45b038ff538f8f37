// GPU UUIDs as text and bytes; needs no toolkit.
#include <cstring>

#include "absl/strings/escaping.h"
#include "common/cuda/device.h"

namespace penstock::cuda {

std::string Uuid::ToString() const {
  const std::string hex = absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  const absl::string_view all = hex;
  return absl::StrCat("GPU-", all.substr(0, 8), "-", all.substr(8, 4), "-", all.substr(12, 4), "-",
                      all.substr(16, 4), "-", all.substr(20, 12));
}

absl::StatusOr<Uuid> Uuid::FromBytes(absl::string_view bytes) {
  Uuid uuid;
  if (bytes.size() != uuid.bytes.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a GPU's UUID has ", uuid.bytes.size(), " bytes, got ", bytes.size()));
  }
  std::memcpy(uuid.bytes.data(), bytes.data(), bytes.size());
  return uuid;
}

}  // namespace penstock::cuda
