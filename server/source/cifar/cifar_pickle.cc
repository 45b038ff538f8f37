#include "server/source/cifar/cifar_pickle.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/source/cifar/pickle_values.h"

namespace penstock::source {
namespace {

absl::Status ReadImages(const PickleValue& value, absl::string_view pickle, CifarBatch& batch) {
  const std::vector<PickleValue>& shape = value.items;
  const bool fits = value.Is(PickleKind::kArray) && shape.size() == 2 &&
                    shape[0].Is(PickleKind::kNumber) && shape[1].Is(PickleKind::kNumber) &&
                    shape[0].number > 0 &&
                    shape[1].number == static_cast<int64_t>(kCifarImageBytes) &&
                    value.text.size() % kCifarImageBytes == 0 &&
                    value.text.size() / kCifarImageBytes == static_cast<uint64_t>(shape[0].number);
  if (!fits)
    return absl::InvalidArgumentError(
        absl::StrCat("'data' is no array of images of ", kCifarImageBytes, " unsigned bytes"));
  batch.data_offset = static_cast<uint64_t>(value.text.data() - pickle.data());
  batch.images = static_cast<uint64_t>(shape[0].number);
  return absl::OkStatus();
}

absl::Status ReadLabels(absl::string_view name, const PickleValue& value,
                        std::vector<uint8_t>& labels) {
  const absl::Status wrong =
      absl::InvalidArgumentError(absl::StrCat("'", name, "' is no list of numbers from 0 to 255"));
  if (!value.Is(PickleKind::kList) || !labels.empty()) return wrong;
  for (const PickleValue& label : value.items) {
    if (!label.Is(PickleKind::kNumber) || label.number < 0 || label.number > 255) return wrong;
    labels.push_back(static_cast<uint8_t>(label.number));
  }
  return absl::OkStatus();
}

absl::StatusOr<CifarBatch> ReadBatch(absl::string_view pickle) {
  PENSTOCK_ASSIGN_OR_RETURN(const PickleValue object, PickleReader(pickle).Read());
  if (!object.Is(PickleKind::kDict)) return absl::InvalidArgumentError("the object is no dict");
  CifarBatch batch;
  for (size_t i = 0; i + 1 < object.items.size(); i += 2) {
    const absl::string_view key = object.items[i].text;
    const PickleValue& value = object.items[i + 1];
    if (key == "data") PENSTOCK_RETURN_IF_ERROR(ReadImages(value, pickle, batch));
    if (key == "labels") PENSTOCK_RETURN_IF_ERROR(ReadLabels(key, value, batch.labels));
    if (key == "fine_labels") PENSTOCK_RETURN_IF_ERROR(ReadLabels(key, value, batch.fine_labels));
    if (key == "coarse_labels")
      PENSTOCK_RETURN_IF_ERROR(ReadLabels(key, value, batch.coarse_labels));
  }
  if (batch.images == 0) return absl::InvalidArgumentError("it has no 'data'");
  for (const std::vector<uint8_t>* labels :
       {&batch.labels, &batch.fine_labels, &batch.coarse_labels})
    if (!labels->empty() && labels->size() != batch.images)
      return absl::InvalidArgumentError(
          absl::StrCat("it has ", batch.images, " images, but ", labels->size(), " labels"));
  return batch;
}

}  // namespace

absl::StatusOr<CifarBatch> ParseCifarBatch(absl::string_view pickle, const std::string& path) {
  absl::StatusOr<CifarBatch> batch = ReadBatch(pickle);
  if (batch.ok()) return batch;
  return absl::InvalidArgumentError(absl::StrCat(
      "'", path, "' is not a batch of CIFAR's Python version: ", batch.status().message(),
      "; download it again, or the binary version"));
}

}  // namespace penstock::source
