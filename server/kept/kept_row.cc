#include "server/kept/kept_row.h"

#include <utility>

#include "common/base/status.h"
#include "common/posix/failpoint.h"
#include "server/kept/summed_copy.h"

namespace penstock::kept {
namespace {

absl::Status Compare(uint32_t sum, uint32_t expected) {
  PENSTOCK_FAILPOINT_RETURN("kept.compared");
  return sum == expected ? absl::OkStatus() : absl::DataLossError("a kept row's checksum");
}

}  // namespace

uint64_t BytesOf(const RowParts& parts) {
  uint64_t bytes = 0;
  for (const std::span<std::byte>& part : parts) bytes += part.size();
  return bytes;
}

KeptRow::KeptRow(std::shared_ptr<std::atomic<uint64_t>> in_use, size_t bytes)
    : in_use(std::move(in_use)),
      data(std::make_unique_for_overwrite<std::byte[]>(bytes)),
      bytes(bytes) {
  *this->in_use += bytes;
}

KeptRow::~KeptRow() { *in_use -= bytes; }

std::shared_ptr<const KeptRow> MakeKeptRow(const RowParts& parts,
                                           std::shared_ptr<std::atomic<uint64_t>> in_use) {
  auto row = std::make_shared<KeptRow>(std::move(in_use), BytesOf(parts));
  std::span<std::byte> rest(row->data.get(), row->bytes);
  for (const std::span<std::byte>& part : parts) {
    row->sums.push_back(CopyWithSum(part, rest.first(part.size())));
    rest = rest.subspan(part.size());
  }
  return row;
}

bool CopyBack(const KeptRow& row, const RowParts& parts) {
  if (row.bytes != BytesOf(parts) || row.sums.size() != parts.size()) return false;
  std::span<const std::byte> rest(row.data.get(), row.bytes);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!Compare(CopyWithSum(rest.first(parts[i].size()), parts[i]), row.sums[i]).ok())
      return false;
    rest = rest.subspan(parts[i].size());
  }
  return true;
}

}  // namespace penstock::kept
