#include "server/source/core/mixture.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "common/base/check.h"
#include "common/base/hash.h"

namespace penstock::source {
namespace {

constexpr uint32_t kNoField = UINT32_MAX;

// For each field of the first part: its index in `part`.
std::vector<uint32_t> NumbersIn(const std::vector<SampleField>& first,
                                const std::vector<SampleField>& part) {
  std::vector<uint32_t> numbers;
  for (const SampleField& field : first) {
    const auto found = std::find_if(part.begin(), part.end(), [&](const SampleField& other) {
      return other.name == field.name;
    });
    numbers.push_back(found == part.end() ? kNoField : static_cast<uint32_t>(found - part.begin()));
  }
  return numbers;
}

struct Part {
  MixturePart of;
  uint64_t begin = 0;                 // its first sample in the mixture
  int64_t first_label = 0;            // the mixture's label for the part's label 0
  std::vector<uint32_t> fields = {};  // its indices of the first part's fields
  bool same_fields = true;            // they equal the first part's indices

  Selection Translate(const Selection& selection) const {
    Selection translated = selection;
    for (uint32_t& field : translated.fields) {
      field = fields[field];
      PENSTOCK_CHECK(field != kNoField);
    }
    return translated;
  }
};

// Copies single rows that are stored as they are, for a mixture in which other rows are packed.
class StoredRowReader final : public Dataset::Reader {
 public:
  explicit StoredRowReader(std::shared_ptr<const Dataset> dataset) : dataset_(std::move(dataset)) {}

  absl::StatusOr<Opened> Open(uint64_t sample) override {
    sample_ = sample;
    return Opened{};
  }
  absl::Status Read(std::span<std::byte>) override { return absl::OkStatus(); }
  absl::StatusOr<base::Fault> ReadFields(const Selection& selection,
                                         std::span<std::byte* const> rows) override {
    PENSTOCK_RETURN_IF_ERROR(dataset_->CopyRows(selection, std::span(&sample_, 1), rows));
    return base::Fault::kNone;
  }

 private:
  const std::shared_ptr<const Dataset> dataset_;  // shared with the mixture
  uint64_t sample_ = 0;
};

std::unique_ptr<Dataset::Reader> NewReaderOf(const std::shared_ptr<const Dataset>& dataset) {
  if (dataset->storage() == Storage::kRows && !dataset->packed())
    return std::make_unique<StoredRowReader>(dataset);
  return dataset->NewReader();
}

// All parts, and where each one's samples are in the mixture.
class Parts {
 public:
  explicit Parts(std::vector<Part> parts) : parts_(std::move(parts)) {}

  const std::vector<Part>& all() const { return parts_; }
  const Part& Of(uint64_t sample) const {
    const auto behind =
        std::upper_bound(parts_.begin(), parts_.end(), sample,
                         [](uint64_t wanted, const Part& part) { return wanted < part.begin; });
    return *std::prev(behind);
  }
  bool AnyIsRemote() const {
    return std::any_of(parts_.begin(), parts_.end(),
                       [](const Part& part) { return part.of.dataset->is_remote(); });
  }
  uint64_t NumberOf(const Part& part) const { return static_cast<uint64_t>(&part - parts_.data()); }
  // The sample's index within the part.
  static uint64_t InPart(const Part& part, uint64_t sample) {
    return part.of.first + (sample - part.begin);
  }

 private:
  std::vector<Part> parts_;
};

class MixtureReader final : public Dataset::Reader {
 public:
  explicit MixtureReader(std::shared_ptr<const Parts> parts)
      : parts_(std::move(parts)), readers_(parts_->all().size()) {}

  absl::StatusOr<Opened> Open(uint64_t sample) override {
    part_ = &parts_->Of(sample);
    std::unique_ptr<Dataset::Reader>& reader = readers_[parts_->NumberOf(*part_)];
    if (reader == nullptr) reader = NewReaderOf(part_->of.dataset);
    reader_ = reader.get();
    return reader_->Open(Parts::InPart(*part_, sample));
  }

  absl::Status Read(std::span<std::byte> into) override { return reader_->Read(into); }

  absl::StatusOr<Opened> OpenMask(const Selection& selection, size_t i) override {
    if (part_->same_fields) return reader_->OpenMask(selection, i);
    return reader_->OpenMask(part_->Translate(selection), i);
  }
  absl::Status ReadMask(const Selection& selection, size_t i, std::span<std::byte> into) override {
    if (part_->same_fields) return reader_->ReadMask(selection, i, into);
    return reader_->ReadMask(part_->Translate(selection), i, into);
  }

  unpack::Recipe RecipeFor(const Selection& selection) const override {
    if (part_->same_fields) return reader_->RecipeFor(selection);
    return reader_->RecipeFor(part_->Translate(selection));
  }

  absl::StatusOr<base::Fault> ReadFields(const Selection& selection,
                                         std::span<std::byte* const> rows) override {
    if (part_->same_fields) return reader_->ReadFields(selection, rows);
    return reader_->ReadFields(part_->Translate(selection), rows);
  }

 private:
  // Shared with the dataset, which may be destroyed first.
  const std::shared_ptr<const Parts> parts_;
  std::vector<std::unique_ptr<Dataset::Reader>> readers_;  // created on first use
  const Part* part_ = nullptr;                             // the opened sample's part
  Dataset::Reader* reader_ = nullptr;
};

class MixtureDataset final : public Dataset {
 public:
  MixtureDataset(std::vector<Part> parts, std::vector<std::string> classes)
      : parts_(std::make_shared<const Parts>(std::move(parts))), classes_(std::move(classes)) {
    base::Hasher hasher;
    hasher.Add("mixture");
    for (const Part& part : parts_->all()) {
      hasher.Add(part.of.dataset->digest());
      hasher.Add(part.of.first);
      hasher.Add(part.of.count);
      hasher.Add(static_cast<uint64_t>(part.first_label));
      samples_ += part.of.count;
    }
    digest_ = hasher.Digest();
  }

  absl::string_view kind() const override { return "mixture"; }
  uint64_t samples() const override { return samples_; }
  uint64_t digest() const override { return digest_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  bool labeled() const override { return first().labeled(); }
  int64_t label(uint64_t sample) const override {
    const Part& part = parts_->Of(sample);
    return part.first_label + part.of.dataset->label(Parts::InPart(part, sample));
  }
  std::string path(uint64_t sample) const override {
    const Part& part = parts_->Of(sample);
    return part.of.dataset->path(Parts::InPart(part, sample));
  }
  std::optional<Extent> extent(uint64_t sample) const override {
    const Part& part = parts_->Of(sample);
    return part.of.dataset->extent(Parts::InPart(part, sample));
  }
  uint64_t stamp(uint64_t sample) const override {
    const Part& part = parts_->Of(sample);
    return part.of.dataset->stamp(Parts::InPart(part, sample));
  }
  bool is_remote() const override { return parts_->AnyIsRemote(); }
  void Expect(uint64_t sample, const Selection& selection, const UseTimes& times) const override {
    const Part& part = parts_->Of(sample);
    const uint64_t in_part = Parts::InPart(part, sample);
    if (part.same_fields) return part.of.dataset->Expect(in_part, selection, times);
    part.of.dataset->Expect(in_part, part.Translate(selection), times);
  }
  absl::StatusOr<FetchOutcome> Fetch(uint64_t sample) const override {
    const Part& part = parts_->Of(sample);
    if (!part.of.dataset->is_remote()) return FetchOutcome{.is_kept = true};
    return part.of.dataset->Fetch(Parts::InPart(part, sample));
  }
  bool IsUnchanged(uint64_t sample) const override {
    const Part& part = parts_->Of(sample);
    return part.of.dataset->IsUnchanged(Parts::InPart(part, sample));
  }
  // The digest covers each part's whole dataset, whichever range of it is mixed.
  uint64_t content_pieces() const override {
    uint64_t pieces = 0;
    for (const Part& part : parts_->all()) pieces += part.of.dataset->content_pieces();
    return pieces;
  }
  absl::Status AddContent(uint64_t piece, Sha256& sum) const override {
    for (const Part& part : parts_->all()) {
      const uint64_t own = part.of.dataset->content_pieces();
      if (piece < own) return part.of.dataset->AddContent(piece, sum);
      piece -= own;
    }
    PENSTOCK_CHECK(false);
    return absl::OkStatus();
  }
  bool changed() const override {
    return std::any_of(parts_->all().begin(), parts_->all().end(),
                       [](const Part& part) { return part.of.dataset->changed(); });
  }
  std::string FindPath(uint64_t sample) const override {
    const Part& part = parts_->Of(sample);
    return part.of.dataset->FindPath(Parts::InPart(part, sample));
  }
  Storage storage() const override { return first().storage(); }
  bool packed() const override {
    return std::any_of(parts_->all().begin(), parts_->all().end(),
                       [](const Part& part) { return part.of.dataset->packed(); });
  }
  uint64_t largest_sample() const override {
    uint64_t most = 0;
    for (const Part& part : parts_->all()) most = std::max(most, part.of.dataset->largest_sample());
    return most;
  }
  // The longest shard of any part.
  uint64_t shard_samples() const override {
    uint64_t most = 0;
    for (const Part& part : parts_->all()) most = std::max(most, part.of.dataset->shard_samples());
    return most;
  }
  std::vector<SampleField> fields() const override { return first().fields(); }

  absl::StatusOr<Selection> Select(std::span<const FieldRequest> requests) const override {
    PENSTOCK_ASSIGN_OR_RETURN(Selection selection, first().Select(requests));
    for (const Part& part : parts_->all()) {
      const absl::StatusOr<Selection> own = part.of.dataset->Select(requests);
      if (!own.ok()) return base::Annotate(own.status(), absl::StrCat("part '", part.of.name, "'"));
      if (own->layout == selection.layout && own->targets == selection.targets) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "parts '", parts_->all().front().of.name, "' and '", part.of.name,
          "' have the requested fields in different types, shapes or kinds of targets"));
    }
    for (size_t i = 0; i < selection.targets.size(); ++i) {
      if (selection.targets[i].kind == base::TargetKind::kNone) continue;
      PENSTOCK_RETURN_IF_ERROR(CheckMeaning(requests[i].name, selection.fields[i]));
    }
    return selection;
  }

  std::unique_ptr<Reader> NewReader() const override {
    return std::make_unique<MixtureReader>(parts_);
  }

  // Copies runs of samples from the same part together.
  absl::Status CopyRows(const Selection& selection, std::span<const uint64_t> samples,
                        std::span<std::byte* const> blocks) const override {
    std::vector<std::byte*> into(blocks.begin(), blocks.end());
    std::vector<uint64_t> own;
    while (!samples.empty()) {
      const Part& part = parts_->Of(samples.front());
      own.clear();
      while (own.size() < samples.size() && samples[own.size()] >= part.begin &&
             samples[own.size()] - part.begin < part.of.count)
        own.push_back(Parts::InPart(part, samples[own.size()]));
      PENSTOCK_RETURN_IF_ERROR(part.of.dataset->CopyRows(
          part.same_fields ? selection : part.Translate(selection), own, into));
      for (size_t block = 0; block < into.size(); ++block)
        into[block] += own.size() * selection.layout.blocks[block];
      samples = samples.subspan(own.size());
    }
    return absl::OkStatus();
  }

 private:
  const Dataset& first() const { return *parts_->all().front().of.dataset; }

  // Whether a target means the same in all parts, whatever is requested of it. `number`: of the
  // first part's field.
  absl::Status CheckMeaning(const std::string& name, uint32_t number) const {
    const Part& front = parts_->all().front();
    const base::TargetSpec target = first().fields()[number].target;
    for (const Part& part : parts_->all()) {
      const base::TargetSpec own = part.of.dataset->fields()[part.fields[number]].target;
      const bool same_classes = part.of.dataset->classes() == first().classes();
      if (own == target && (same_classes || name != kObjectLabels)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("parts '", front.of.name, "' and '", part.of.name, "' store '", name, "' ",
                       own == target ? "as numbers of different classes" : "in different formats",
                       "; mix parts that are alike, or request it as it is stored (as_stored)"));
    }
    return absl::OkStatus();
  }

  const std::shared_ptr<const Parts> parts_;  // shared with the readers, which may outlive this
  const std::vector<std::string> classes_;
  uint64_t samples_ = 0;
  uint64_t digest_ = 0;
};

absl::string_view NameOf(Storage storage) {
  switch (storage) {
    case Storage::kEncoded:
      return "photographs, which are decoded";
    case Storage::kRows:
      return "stored rows";
    case Storage::kNothing:
      return "rows that are stored nowhere";
    case Storage::kMade:
      return "batches that Python workers make";
  }
  return "";
}

std::string Describe(const RowLayout& layout) {
  return absl::StrJoin(layout.tensors, ", ", [](std::string* out, const Tensor& tensor) {
    absl::StrAppend(out, tensor.name, " ", std::string(base::DTypeName(tensor.type)), "[",
                    absl::StrJoin(tensor.shape, " x "), "]");
  });
}

absl::Status Differ(const MixturePart& a, const MixturePart& b, absl::string_view what,
                    absl::string_view of_a, absl::string_view of_b) {
  return absl::InvalidArgumentError(absl::StrCat("parts '", a.name, "' and '", b.name,
                                                 "' cannot be mixed: ", what, " ", of_a, " and ",
                                                 of_b, "; mix parts that are alike"));
}

absl::Status GoTogether(const MixturePart& first, const MixturePart& part) {
  const Dataset& a = *first.dataset;
  const Dataset& b = *part.dataset;
  if (a.storage() != b.storage())
    return Differ(first, part, "they hold", NameOf(a.storage()), NameOf(b.storage()));
  if (a.labeled() != b.labeled())
    return Differ(first, part, "they are", a.labeled() ? "labeled" : "without labels",
                  b.labeled() ? "labeled" : "without labels");
  if (a.storage() != Storage::kRows) return absl::OkStatus();
  PENSTOCK_ASSIGN_OR_RETURN(const Selection of_a, a.Select({}));
  PENSTOCK_ASSIGN_OR_RETURN(const Selection of_b, b.Select({}));
  if (of_a.layout == of_b.layout) return absl::OkStatus();
  return Differ(first, part, "their rows are", Describe(of_a.layout), Describe(of_b.layout));
}

absl::Status Check(const std::vector<MixturePart>& parts) {
  PENSTOCK_CHECK(!parts.empty());
  for (const MixturePart& part : parts) {
    const uint64_t samples = part.dataset->samples();
    PENSTOCK_CHECK(part.count >= 1 && part.first <= samples && part.count <= samples - part.first);
    if (part.dataset->storage() == Storage::kNothing)
      return absl::InvalidArgumentError(
          absl::StrCat("part '", part.name,
                       "' is synthetic, and noise needs no mixing; leave it "
                       "out"));
    if (part.dataset->storage() == Storage::kMade)
      return absl::InvalidArgumentError(absl::StrCat(
          "part '", part.name,
          "' is a Python dataset, whose batches are made as a whole; mix inside the dataset"));
    PENSTOCK_RETURN_IF_ERROR(GoTogether(parts.front(), part));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<const Dataset>> Mix(std::vector<MixturePart> parts) {
  PENSTOCK_RETURN_IF_ERROR(Check(parts));
  const std::vector<SampleField> fields = parts.front().dataset->fields();
  const std::vector<std::string>& shared = parts.front().dataset->classes();
  const bool alike = std::all_of(parts.begin(), parts.end(), [&](const MixturePart& part) {
    return part.dataset->classes() == shared;
  });
  std::vector<std::string> classes;
  if (alike) classes = shared;
  std::vector<Part> made;
  uint64_t begin = 0;
  for (MixturePart& of : parts) {
    Part part = {.of = std::move(of), .begin = begin};
    begin += part.of.count;
    part.fields = NumbersIn(fields, part.of.dataset->fields());
    for (uint32_t i = 0; i < part.fields.size(); ++i) part.same_fields &= part.fields[i] == i;
    if (!alike) {
      part.first_label = static_cast<int64_t>(classes.size());
      for (const std::string& name : part.of.dataset->classes())
        classes.push_back(absl::StrCat(part.of.name, "/", name));
    }
    made.push_back(std::move(part));
  }
  return std::make_unique<const MixtureDataset>(std::move(made), std::move(classes));
}

}  // namespace penstock::source
