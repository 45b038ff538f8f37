#include "client/finish/synthetic.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/finish/checks.h"
#include "common/base/philox.h"

namespace penstock::finish {
namespace {

constexpr uint64_t kBlockBytes = 16;

void FillRow(const Synthetic& what, uint64_t sample, std::span<uint8_t> row) {
  for (uint64_t at = 0; at < row.size(); at += kBlockBytes) {
    const base::PhiloxWords words = base::Philox4x32(
        {static_cast<uint32_t>(sample), static_cast<uint32_t>(sample >> 32),
         static_cast<uint32_t>(what.epoch), static_cast<uint32_t>(at / kBlockBytes)},
        what.seed);
    const uint64_t here = std::min<uint64_t>(kBlockBytes, row.size() - at);
    for (uint64_t i = 0; i < here; ++i) {
      row[at + i] = static_cast<uint8_t>(words[i / 4] >> (8 * (i % 4)));
    }
  }
}

}  // namespace

absl::Status CheckSynthetic(const Synthetic& what, const Spec& spec, const Shape& shape,
                            uint64_t into_bytes, uint64_t labels) {
  PENSTOCK_ASSIGN_OR_RETURN(const uint64_t stored, FinishedBytes(Type::kUInt8, shape));
  PENSTOCK_RETURN_IF_ERROR(CheckSizes(spec, shape, stored, into_bytes));
  PENSTOCK_RETURN_IF_ERROR(CheckCoefficients(spec, shape.channels));
  if (shape.rows > 0 && stored / shape.rows / kBlockBytes >= base::kSyntheticLabelBlock) {
    return absl::InvalidArgumentError(absl::StrCat("synthetic rows: too large: got ",
                                                   stored / shape.rows,
                                                   " bytes, expected less than 64 GiB"));
  }
  if (what.samples == 0) {
    return absl::InvalidArgumentError("synthetic rows: samples: got 0, expected at least 1");
  }
  if (what.classes == 0) {
    return absl::InvalidArgumentError("synthetic rows: classes: got 0, expected at least 1");
  }
  if (labels != 0 && labels != shape.rows) {
    return absl::InvalidArgumentError(absl::StrCat("synthetic rows: wrong room for labels: got ",
                                                   labels, ", expected ", shape.rows, " or none"));
  }
  return absl::OkStatus();
}

absl::Status Synthesize(const Synthetic& what, const Spec& spec, const Shape& shape,
                        std::span<std::byte> into, std::span<int64_t> labels) {
  PENSTOCK_RETURN_IF_ERROR(CheckSynthetic(what, spec, shape, into.size(), labels.size()));
  std::vector<uint8_t> rows(*FinishedBytes(Type::kUInt8, shape));
  const size_t row_bytes = shape.rows == 0 ? 0 : rows.size() / shape.rows;
  for (size_t row = 0; row < shape.rows; ++row) {
    FillRow(what, SampleOf(what, row), std::span(rows).subspan(row * row_bytes, row_bytes));
  }
  for (size_t row = 0; row < labels.size(); ++row) {
    labels[row] = SyntheticLabel(what, SampleOf(what, row));
  }
  return Apply(spec, shape, rows, into);
}

}  // namespace penstock::finish
