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

SampleField AsRequested(SampleField field, const FieldRequest& request) {
  if (!field.list || request.most == 0) return field;
  field.variable = true;
  if (!field.shape.empty()) field.shape.erase(field.shape.begin());
  return field;
}

// The field with the shape that its target has: boxes and points may be stored as lists of numbers.
SampleField Shaped(SampleField field, const base::TargetSpec& target) {
  std::vector<uint32_t> item;
  if (target.kind == base::TargetKind::kBoxes) item = {4};
  if (target.kind == base::TargetKind::kPoints && target.numbers != 0) item = {target.numbers};
  if (!item.empty() && target.item_points != 0) item.insert(item.begin(), target.item_points);
  const bool is_list = field.shape.size() == (field.variable ? 0 : 1);
  if (item.empty() || !is_list) return field;
  uint64_t numbers = 1;
  for (const uint32_t side : item) numbers *= side;
  if (!field.variable) {
    if (field.shape[0] % numbers != 0) return field;
    const auto items = static_cast<uint32_t>(field.shape[0] / numbers);
    if (items > 1 || item.size() == 1) item.insert(item.begin(), items);
  }
  field.shape = std::move(item);
  return field;
}

// An item of a field of variable length, or all of another field, has that many points.
absl::Status CheckPairs(const SampleField& field, const base::TargetSpec& target) {
  uint64_t points = 1;
  for (size_t i = 0; i + 1 < field.shape.size(); ++i) points *= field.shape[i];
  const uint8_t* const end = target.pair + 2 * target.pairs;
  const uint8_t* const beyond =
      std::find_if(target.pair, end, [points](uint8_t point) { return point >= points; });
  if (beyond == end) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("'", field.name, "' has ", points,
                                                 " points, and its pairs name point ",
                                                 uint32_t{*beyond}, "; they count from 0 on"));
}

// What the field is as requested.
absl::StatusOr<base::TargetSpec> TargetOf(const SampleField& field, const FieldRequest& request) {
  if (request.as_stored && request.target)
    return absl::InvalidArgumentError(absl::StrCat(
        "'", field.name, "' is requested as stored and as a target; leave one of both out"));
  if (request.as_stored) return base::TargetSpec{};
  return request.target.value_or(field.target);
}

// Whether the field can be that. `stored`: the field with its own shape.
absl::Status CheckTarget(const SampleField& field, const SampleField& stored,
                         const base::TargetSpec& target) {
  const uint32_t last = field.shape.empty() ? 0 : field.shape.back();
  const size_t dimensions = field.shape.size() + (field.variable ? 1 : 0);
  const auto refuse = [&](absl::string_view wanted) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", field.name, "' cannot be that kind of target: it needs ", wanted, "; it is ",
        base::DTypeName(stored.type), ", ", stored.variable ? "variable × " : "", "(",
        absl::StrJoin(stored.shape, ", "), ")"));
  };
  switch (target.kind) {
    case base::TargetKind::kNone:
      break;
    case base::TargetKind::kMask:
      if (field.type != base::DType::kUInt8 || !field.variable || !field.shape.empty())
        return refuse("the bytes of a PNG file");
      break;
    case base::TargetKind::kBoxes:
      if (field.type != base::DType::kFloat32 || dimensions != 2 || last != 4)
        return refuse("float32, n × 4");
      break;
    case base::TargetKind::kPoints:
      if (field.type != base::DType::kFloat32 || dimensions < 2 || (last != 2 && last != 3))
        return refuse("float32, … × 2 or … × 3, or a list of numbers and how many make a point");
      return CheckPairs(field, target);
    case base::TargetKind::kWithBoxes:
      if (!field.variable) return refuse("a number of values that varies, one for each box");
      break;
  }
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

absl::Status CheckMask(const FieldRequest& request) {
  if (request.most == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", request.name,
                   "' is a mask, of the image's size; leave its greatest length "
                   "out, or request it as it is stored (as_stored)"));
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
    PENSTOCK_ASSIGN_OR_RETURN(const base::TargetSpec target, TargetOf(*found, request));
    const SampleField stored = AsRequested(*found, request);
    const SampleField field = Shaped(stored, target);
    PENSTOCK_RETURN_IF_ERROR(CheckTarget(field, stored, target));
    if (target.kind == base::TargetKind::kMask) {
      PENSTOCK_RETURN_IF_ERROR(CheckMask(request));
      selection.layout.Add(request.name, base::DType::kUInt8, {0, 0});
    } else {
      PENSTOCK_RETURN_IF_ERROR(Add(field, request, selection.layout));
    }
    selection.fields.push_back(number);
    selection.targets.push_back(target);
  }
  return selection;
}

void SetMaskSize(uint32_t height, uint32_t width, Selection& selection) {
  for (size_t i = 0; i < selection.targets.size(); ++i) {
    if (selection.targets[i].kind != base::TargetKind::kMask) continue;
    Tensor& tensor = selection.layout.tensors[i];
    tensor.shape = {height, width};
    selection.layout.blocks[tensor.block] = tensor.bytes();
  }
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

absl::StatusOr<Dataset::Reader::Opened> Dataset::Reader::OpenMask(const Selection&, size_t) {
  PENSTOCK_CHECK(false);
  return Opened{};
}

absl::Status Dataset::Reader::ReadMask(const Selection&, size_t, std::span<std::byte>) {
  PENSTOCK_CHECK(false);
  return absl::OkStatus();
}

absl::StatusOr<base::Fault> Dataset::Reader::ReadFields(const Selection& selection,
                                                        std::span<std::byte* const>) {
  PENSTOCK_CHECK(selection.fields.empty());
  return base::Fault::kNone;
}

absl::Status Dataset::CopyRows(const Selection&, std::span<const uint64_t>,
                               std::span<std::byte* const>) const {
  PENSTOCK_CHECK(false);  // datasets of stored rows have their own
  return absl::OkStatus();
}

}  // namespace penstock::source
