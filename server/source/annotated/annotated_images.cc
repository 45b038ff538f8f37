#include "server/source/annotated/annotated_images.h"

#include <cstring>
#include <utility>

#include "common/base/check.h"
#include "common/base/hash.h"
#include "server/source/lists/listed_images.h"

namespace penstock::source {
namespace {

constexpr char kMaskField[] = "mask";

base::TargetSpec TargetOf(ObjectValue what, const ObjectTable& table) {
  if (what == ObjectValue::kBoxes) return table.boxes;
  if (what == ObjectValue::kKeypoints) return table.keypoints;
  return {.kind = base::TargetKind::kWithBoxes};
}

SampleField ToField(const ObjectColumn& column, const ObjectTable& table) {
  const ObjectValueFacts& facts = FactsOf(column.what);
  SampleField field = {.name = facts.name,
                       .type = facts.type,
                       .variable = true,
                       .target = TargetOf(column.what, table)};
  if (facts.numbers > 1) field.shape = {facts.numbers};
  if (facts.numbers == 0) field.shape = {table.points, 3};
  field.placed = column.what == ObjectValue::kBoxes || column.what == ObjectValue::kKeypoints;
  return field;
}

SampleField MaskField() {
  return {.name = kMaskField,
          .variable = true,
          .placed = true,
          .target = {.kind = base::TargetKind::kMask, .fill = kMaskFill}};
}

// What the dataset shares with its readers.
struct AnnotatedState {
  explicit AnnotatedState(AnnotatedParts parts)
      : images(std::make_shared<ListedImages>(std::move(parts.tree), std::move(parts.images))),
        objects(std::move(parts.objects)),
        classes(std::move(parts.classes)) {
    if (parts.masks)
      masks = std::make_shared<ListedImages>(std::move(parts.masks->tree),
                                             std::move(parts.masks->list));
    for (const ListColumn& column : list().columns)
      fields.push_back({.name = column.name, .type = column.type});
    for (const ObjectColumn& column : objects.columns) fields.push_back(ToField(column, objects));
    if (masks != nullptr) fields.push_back(MaskField());
  }

  const ImageList& list() const { return images->list; }

  // The part of a column that a sample's objects have.
  std::span<const std::byte> ValuesOf(const ObjectColumn& column, uint64_t sample) const {
    const uint64_t begin = sample == 0 ? 0 : objects.ends[sample - 1];
    const uint64_t each = BytesOf(column.what, objects.points);
    return std::span(column.values).subspan(begin * each, (objects.ends[sample] - begin) * each);
  }

  const std::shared_ptr<const ListedImages> images;  // shared with the readers of images
  const ObjectTable objects;
  const std::vector<std::string> classes;
  std::shared_ptr<const ListedImages> masks;  // null: there are none
  std::vector<SampleField> fields;            // the list's columns, the objects' columns, the mask
};

class AnnotatedReader final : public Dataset::Reader {
 public:
  explicit AnnotatedReader(std::shared_ptr<const AnnotatedState> state)
      : state_(std::move(state)), image_(MakeImageReader(state_->images)) {
    if (state_->masks != nullptr) mask_ = MakeImageReader(state_->masks);
  }

  absl::StatusOr<Opened> Open(uint64_t sample) override {
    sample_ = sample;
    return image_->Open(sample);
  }
  absl::Status Read(std::span<std::byte> into) override { return image_->Read(into); }

  // There is one mask.
  absl::StatusOr<Opened> OpenMask(const Selection&, size_t) override {
    PENSTOCK_ASSIGN_OR_RETURN(Opened opened, mask_->Open(sample_));
    if (opened.fault != base::Fault::kNone) opened.fault = base::Fault::kMalformed;
    return opened;
  }
  absl::Status ReadMask(const Selection&, size_t, std::span<std::byte> into) override {
    return mask_->Read(into);
  }

  absl::StatusOr<base::Fault> ReadFields(const Selection& selection,
                                         std::span<std::byte* const> rows) override {
    for (size_t i = 0; i < selection.fields.size(); ++i) {
      if (IsMask(selection, i)) continue;
      const Tensor& tensor = selection.layout.tensors[i];
      std::byte* const values = rows[tensor.block];
      size_t field = selection.fields[i];
      if (field < state_->list().columns.size()) {
        std::memcpy(values, &state_->list().columns[field].values[sample_], tensor.bytes());
        continue;
      }
      field -= state_->list().columns.size();
      std::byte* const length = rows[*tensor.lengths_block];
      base::Fault fault = base::Fault::kNone;
      if (field == state_->objects.columns.size()) {
        PENSTOCK_ASSIGN_OR_RETURN(fault, FillMask(tensor, values, length));
      } else {
        fault = Fill(state_->objects.columns[field], tensor, values, length);
      }
      if (fault != base::Fault::kNone) return fault;
    }
    return base::Fault::kNone;
  }

 private:
  base::Fault Fill(const ObjectColumn& column, const Tensor& tensor, std::byte* values,
                   std::byte* length) const {
    const std::span<const std::byte> from = state_->ValuesOf(column, sample_);
    if (from.size() > tensor.bytes()) return base::Fault::kTooLong;
    if (!from.empty()) std::memcpy(values, from.data(), from.size());
    std::memset(values + from.size(), 0, tensor.bytes() - from.size());
    const auto count =
        static_cast<int32_t>(from.size() / BytesOf(column.what, state_->objects.points));
    std::memcpy(length, &count, sizeof count);
    return base::Fault::kNone;
  }

  // The bytes of the file, as they are stored.
  absl::StatusOr<base::Fault> FillMask(const Tensor& tensor, std::byte* values, std::byte* length) {
    PENSTOCK_ASSIGN_OR_RETURN(const Opened opened, mask_->Open(sample_));
    if (opened.fault != base::Fault::kNone) return base::Fault::kMalformed;
    if (opened.bytes > tensor.bytes()) return base::Fault::kTooLong;
    PENSTOCK_RETURN_IF_ERROR(mask_->Read({values, opened.bytes}));
    std::memset(values + opened.bytes, 0, tensor.bytes() - opened.bytes);
    const auto count = static_cast<int32_t>(opened.bytes);
    std::memcpy(length, &count, sizeof count);
    return base::Fault::kNone;
  }

  // Shared with the dataset and its other readers.
  const std::shared_ptr<const AnnotatedState> state_;
  const std::unique_ptr<Dataset::Reader> image_;
  std::unique_ptr<Dataset::Reader> mask_;
  uint64_t sample_ = 0;
};

class AnnotatedImages final : public Dataset {
 public:
  AnnotatedImages(absl::string_view kind, std::shared_ptr<const AnnotatedState> state)
      : kind_(kind), state_(std::move(state)), digest_(MakeDigest()) {}

  absl::string_view kind() const override { return kind_; }
  uint64_t samples() const override { return state_->list().files.size(); }
  uint64_t digest() const override { return digest_; }
  const std::vector<std::string>& classes() const override { return state_->classes; }
  bool labeled() const override { return false; }
  int64_t label(uint64_t sample) const override {
    PENSTOCK_CHECK(sample < samples());
    return 0;
  }
  std::string path(uint64_t sample) const override { return state_->images->DisplayPath(sample); }
  std::optional<Extent> extent(uint64_t sample) const override {
    return state_->images->FindExtent(sample);
  }
  // Of the image and its mask: a mask that is repaired makes another sample.
  uint64_t stamp(uint64_t sample) const override {
    const uint64_t image = state_->images->StampAt(sample);
    if (state_->masks == nullptr) return image;
    base::Hasher both;
    both.Add(image);
    both.Add(state_->masks->StampAt(sample));
    return both.Digest();
  }
  bool IsUnchanged(uint64_t sample) const override {
    return state_->images->IsUnchanged(sample) &&
           (state_->masks == nullptr || state_->masks->IsUnchanged(sample));
  }
  bool changed() const override {
    return state_->images->changed.load() ||
           (state_->masks != nullptr && state_->masks->changed.load());
  }
  std::vector<SampleField> fields() const override { return state_->fields; }

  // Each sample is a piece.
  uint64_t content_pieces() const override { return samples(); }
  absl::Status AddContent(uint64_t sample, Sha256& sum) const override {
    sum.Add(state_->list().PathOf(sample));
    for (const ListColumn& column : state_->list().columns) sum.Add(column.values[sample]);
    for (const ObjectColumn& column : state_->objects.columns) {
      const std::span<const std::byte> values = state_->ValuesOf(column, sample);
      sum.Add(uint64_t{values.size()});
      sum.AddBytes(values);
    }
    PENSTOCK_RETURN_IF_ERROR(AddFileContent(state_->images, sample, sum));
    if (state_->masks == nullptr) return absl::OkStatus();
    sum.Add(state_->masks->list.PathOf(sample));
    return AddFileContent(state_->masks, sample, sum);
  }
  std::unique_ptr<Reader> NewReader() const override {
    return std::make_unique<AnnotatedReader>(state_);
  }

 private:
  // Of paths, sizes, columns, objects and classes.
  uint64_t MakeDigest() const {
    base::Hasher hasher;
    hasher.Add(kind_);
    AddFiles(state_->list(), hasher);
    for (const ListColumn& column : state_->list().columns)
      hasher.Add(base::Hash(std::as_bytes(std::span(column.values))));
    for (const SampleField& field : state_->fields) {
      hasher.Add(field.name);
      hasher.Add(base::Hash(std::as_bytes(std::span(&field.target, 1))));
    }
    hasher.Add(base::Hash(std::as_bytes(std::span(state_->objects.ends))));
    for (const ObjectColumn& column : state_->objects.columns)
      hasher.Add(base::Hash(column.values));
    for (const std::string& name : state_->classes) hasher.Add(name);
    if (state_->masks != nullptr) AddFiles(state_->masks->list, hasher);
    return hasher.Digest();
  }

  static void AddFiles(const ImageList& list, base::Hasher& hasher) {
    hasher.Add(uint64_t{list.files.size()});
    for (uint64_t sample = 0; sample < list.files.size(); ++sample) {
      hasher.Add(list.PathOf(sample));
      hasher.Add(uint64_t{list.files[sample].bytes});
    }
  }

  const absl::string_view kind_;
  const std::shared_ptr<const AnnotatedState> state_;  // shared with the readers
  const uint64_t digest_;
};

}  // namespace

std::unique_ptr<Dataset> MakeAnnotatedImages(AnnotatedParts parts) {
  const size_t samples = parts.images.files.size();
  PENSTOCK_CHECK(samples > 0);
  PENSTOCK_CHECK(!parts.masks || parts.masks->list.files.size() == samples);
  PENSTOCK_CHECK(parts.objects.columns.empty() || parts.objects.ends.size() == samples);
  const absl::string_view kind = parts.kind;
  return std::make_unique<AnnotatedImages>(
      kind, std::make_shared<const AnnotatedState>(std::move(parts)));
}

}  // namespace penstock::source
