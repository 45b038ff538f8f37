#include "server/source/core/dataset.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "common/base/check.h"

namespace penstock::source {
namespace {

absl::Status Unknown(const Dataset& dataset, const std::vector<SampleField>& fields,
                     absl::string_view name) {
  const auto name_of = [](std::string* out, const SampleField& field) { out->append(field.name); };
  return absl::InvalidArgumentError(absl::StrCat(
      "the samples of this ", dataset.kind(), " dataset have no '", name, "'; ",
      fields.empty() ? "nothing can be asked for beside the image"
                     : absl::StrCat("they have ", absl::StrJoin(fields, ", ", name_of))));
}

absl::Status CheckMost(const SampleField& field, const FieldRequest& request) {
  if (field.variable && request.most == 0)
    return absl::InvalidArgumentError(
        absl::StrCat("'", field.name,
                     "' is of variable length; say how many elements of it a sample has at most"));
  if (!field.variable && request.most != 0)
    return absl::InvalidArgumentError(absl::StrCat(
        "'", field.name, "' has one shape in all samples; leave its greatest length out"));
  return absl::OkStatus();
}

absl::Status Add(const SampleField& field, const FieldRequest& request, RowLayout& layout) {
  PENSTOCK_RETURN_IF_ERROR(CheckMost(field, request));
  std::vector<uint32_t> shape = field.shape;
  if (field.variable) shape.insert(shape.begin(), request.most);
  unsigned __int128 bytes = base::ElementBytes(field.type);
  for (const uint32_t side : shape) bytes = std::min<unsigned __int128>(bytes * side, UINT64_MAX);
  if (bytes + layout.bytes() > kMaxRowBytes)
    return absl::InvalidArgumentError(
        absl::StrCat("with '", field.name, "' a row has more than ", kMaxRowBytes, " bytes"));
  layout.Add(field.name, field.type, std::move(shape),
             field.variable ? RowLayout::Length::kVariable : RowLayout::Length::kFixed);
  return absl::OkStatus();
}

std::vector<FieldRequest> RequestsForAll(const std::vector<SampleField>& fields) {
  std::vector<FieldRequest> requests;
  for (const SampleField& field : fields)
    if (!field.variable) requests.push_back({.name = field.name});
  return requests;
}

}  // namespace

// Keeps the order of the requests; a duplicate is an error.
absl::StatusOr<Selection> SelectFrom(const Dataset& dataset,
                                     std::span<const FieldRequest> requests) {
  const std::vector<SampleField> fields = dataset.fields();
  Selection selection;
  if (requests.size() > kMaxTensors)
    return absl::InvalidArgumentError(absl::StrCat(
        requests.size(), " tensors are asked for; a batch has ", kMaxTensors, " at most"));
  for (const FieldRequest& request : requests) {
    const auto found = std::find_if(fields.begin(), fields.end(), [&](const SampleField& field) {
      return field.name == request.name;
    });
    if (found == fields.end()) return Unknown(dataset, fields, request.name);
    const auto number = static_cast<uint32_t>(found - fields.begin());
    if (std::count(selection.fields.begin(), selection.fields.end(), number) != 0)
      return absl::InvalidArgumentError(absl::StrCat("'", request.name, "' is asked for twice"));
    PENSTOCK_RETURN_IF_ERROR(Add(*found, request, selection.layout));
    selection.fields.push_back(number);
  }
  return selection;
}

absl::StatusOr<Selection> Dataset::Select(std::span<const FieldRequest> requests) const {
  if (storage() == Storage::kEncoded || !requests.empty()) return SelectFrom(*this, requests);
  return SelectFrom(*this, RequestsForAll(fields()));
}

void Dataset::CopyLabels(std::span<const uint64_t> samples, std::byte* into) const {
  CopyEach(samples, into, [this](uint64_t sample) { return label(sample); });
}

// Callers ask only for what the dataset provides.

absl::Status Dataset::AddContent(uint64_t, Sha256&) const {
  PENSTOCK_CHECK(content_pieces() == 0);
  return absl::OkStatus();
}

std::unique_ptr<Dataset::Reader> Dataset::NewReader() const {
  PENSTOCK_CHECK(storage() == Storage::kEncoded || packed());
  return nullptr;
}

absl::StatusOr<base::Fault> Dataset::Reader::ReadFields(const Selection& selection,
                                                        std::span<std::byte* const>) {
  PENSTOCK_CHECK(selection.fields.empty());
  return base::Fault::kNone;
}

absl::Status Dataset::CopyRows(const Selection&, std::span<const uint64_t>,
                               std::span<std::byte* const>) const {
  PENSTOCK_CHECK(storage() == Storage::kRows && !packed());
  return absl::UnimplementedError("rows");
}

}  // namespace penstock::source
