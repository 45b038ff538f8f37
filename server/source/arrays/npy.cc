#include "server/source/arrays/npy.h"

#include <algorithm>
#include <limits>
#include <new>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/hash.h"
#include "common/base/units.h"
#include "server/source/arrays/npy_format.h"
#include "server/source/arrays/npy_labels.h"
#include "server/source/arrays/token_format.h"
#include "server/source/core/content_digest.h"
#include "server/source/core/remote_ranges.h"
#include "server/source/core/row_store.h"
#include "server/source/files/index_memory.h"
#include "server/source/files/tree_file.h"

namespace penstock::source {
namespace {

constexpr uint64_t kMaxChannels = 16;  // the maximum of the finish step
constexpr absl::string_view kData = "data";

struct NpyFile {
  std::string name = {}, path = {};
  TreeFile file = {};
  posix::Fd opened = {};
  NpyHeader header = {};

  RowExtent extent() const {
    return {.offset = header.header_bytes, .row_bytes = header.item_bytes, .rows = header.items()};
  }
};

template <typename... Words>
absl::Status Wrong(const NpyFile& file, const Words&... words) {
  return absl::InvalidArgumentError(absl::StrCat("'", file.path, "': ", words...));
}

absl::StatusOr<NpyFile> OpenFile(const NpyArray& array, FileFinder& finder, Parsers& parsers) {
  NpyFile file{.name = array.name};
  PENSTOCK_ASSIGN_OR_RETURN(file.file, finder.Find(array.file));
  file.path = file.file.path();
  PENSTOCK_ASSIGN_OR_RETURN(file.opened, file.file.Open());
  PENSTOCK_ASSIGN_OR_RETURN(const FileState identity, file.file.StateOf(file.opened));
  PENSTOCK_ASSIGN_OR_RETURN(file.header, parsers.ReadNpy({.fd = file.opened,
                                                          .path = file.path,
                                                          .bytes = identity.bytes,
                                                          .remote = file.file.remote.get()}));
  const uint64_t end = file.extent().offset + file.extent().bytes();
  if (identity.bytes != end)
    return Wrong(file, "it ", identity.bytes < end ? "is truncated" : "has bytes after its array",
                 ": its header says ", file.header.items(), " items of ", file.header.item_bytes,
                 " bytes, which end at byte ", end, "; the file ends at byte ", identity.bytes,
                 "; save the array again, alone in a file");
  return file;
}

// The name for a single array that the dataset does not name.
std::string NameOf(const NpyHeader& header) {
  const size_t dimensions = header.shape.size();
  const bool image =
      header.type == base::DType::kUInt8 &&
      (dimensions == 3 || (dimensions == 4 && (header.shape[3] == 1 || header.shape[3] == 3)));
  return image ? std::string(kImage) : std::string(kData);
}

bool IsImage(const NpyFile& file) {
  return file.name == kImage && file.header.type == base::DType::kUInt8 &&
         (file.header.shape.size() == 3 || file.header.shape.size() == 4);
}

absl::StatusOr<SampleField> ToField(const NpyFile& file) {
  SampleField field = {.name = file.name, .type = file.header.type};
  for (size_t d = 1; d < file.header.shape.size(); ++d) {
    if (file.header.shape[d] > std::numeric_limits<uint32_t>::max())
      return Wrong(file, "dimension ", d, " of its shape is ", file.header.shape[d],
                   "; wanted less than 2³²");
    field.shape.push_back(static_cast<uint32_t>(file.header.shape[d]));
  }
  if (field.shape.size() > kMaxDimensions)
    return Wrong(file, "a sample has ", field.shape.size(), " dimensions; wanted ", kMaxDimensions,
                 " at most");
  if (file.header.item_bytes > kMaxRowBytes)
    return Wrong(file, "a sample has ", file.header.item_bytes, " bytes; wanted ", kMaxRowBytes,
                 " at most");
  if (!IsImage(file)) return field;
  field.shape.resize(3, 1);  // one channel, if the shape has no channels
  if (field.shape[2] > kMaxChannels)
    return Wrong(file, "the last dimension of images is their channels: got ", field.shape[2],
                 ", wanted ", kMaxChannels,
                 " at most; save images × height × width × channels, or rename the array");
  return field;
}

absl::StatusOr<NpyLabels> ReadLabels(const NpyFile& file) {
  if (file.header.shape.size() != 1 || !IsTokenType(file.header.type))
    return Wrong(file, "it has ", file.header.shape.size(), " dimensions of ",
                 base::DTypeName(file.header.type),
                 "; wanted labels, one integer per sample; give it a name other than '", kNpyLabel,
                 "', like 'target'");
  const uint64_t bytes = file.extent().bytes();
  PENSTOCK_RETURN_IF_ERROR(CheckIndexMemory(bytes, file.path));
  std::unique_ptr<std::byte[]> memory(new (std::nothrow) std::byte[bytes]);
  if (memory == nullptr)
    return absl::ResourceExhaustedError(absl::StrCat("'", file.path, "' needs ",
                                                     base::FormatBytes(bytes),
                                                     " of memory, which is not available"));
  const std::span<std::byte> into(memory.get(), bytes);
  PENSTOCK_RETURN_IF_ERROR(file.file.remote != nullptr
                               ? ReadKeptParts(*file.file.remote, file.extent().offset, into)
                               : ReadExactly(file.opened, file.path, file.extent().offset, into));
  return NpyLabels::Make(std::move(memory), file.header.items(), file.header.type, file.path);
}

class NpyDataset final : public Dataset {
 public:
  static absl::StatusOr<std::unique_ptr<NpyDataset>> Make(std::vector<NpyFile> files) {
    auto dataset = std::make_unique<NpyDataset>();
    dataset->samples_ = files[0].header.items();
    // Displayable images must be the layout's first tensor.
    std::stable_partition(files.begin(), files.end(), IsImage);
    for (NpyFile& file : files) PENSTOCK_RETURN_IF_ERROR(dataset->Add(std::move(file)));
    if (dataset->fields_.empty())
      return absl::InvalidArgumentError(
          "npy arrays: got labels only, wanted at least one other array");
    if (dataset->labels_) dataset->classes_ = dataset->labels_->Classes();
    PENSTOCK_RETURN_IF_ERROR(dataset->MakeDigest());
    return dataset;
  }

  absl::string_view kind() const override { return "npy"; }
  uint64_t samples() const override { return samples_; }
  uint64_t digest() const override { return digest_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  bool labeled() const override { return labels_.has_value(); }
  int64_t label(uint64_t sample) const override {
    PENSTOCK_CHECK(sample < samples_);
    return labels_ ? labels_->At(sample) : 0;
  }
  void CopyLabels(std::span<const uint64_t> samples, std::byte* into) const override {
    CopyEach(samples, into, [this](uint64_t sample) { return NpyDataset::label(sample); });
  }
  std::string path(uint64_t sample) const override {
    PENSTOCK_CHECK(sample < samples_);
    return absl::StrCat(path_, "#", sample);
  }
  bool changed() const override {
    return std::any_of(rows_.begin(), rows_.end(),
                       [](const auto& rows) { return rows->changed(); });
  }
  // The pieces of the arrays in field order, plus one for the labels.
  uint64_t content_pieces() const override {
    uint64_t pieces = labels_ ? 1 : 0;
    for (const auto& rows : rows_) pieces += PiecesOf(rows->bytes());
    return pieces;
  }
  absl::Status AddContent(uint64_t piece, Sha256& sum) const override {
    for (size_t i = 0; i < rows_.size(); ++i) {
      const uint64_t own = PiecesOf(rows_[i]->bytes());
      if (piece >= own) {
        piece -= own;
        continue;
      }
      sum.Add(fields_[i].name);
      const auto read = [&](uint64_t offset, std::span<std::byte> into) {
        return rows_[i]->Read(offset, into);
      };
      return AddPiece(rows_[i]->bytes(), piece, read, sum);
    }
    sum.Add(kNpyLabel);
    sum.AddBytes(labels_->bytes());
    return absl::OkStatus();
  }
  Storage storage() const override { return Storage::kRows; }
  std::vector<SampleField> fields() const override { return fields_; }
  bool is_remote() const override {
    return std::any_of(rows_.begin(), rows_.end(),
                       [](const auto& rows) { return rows->is_remote(); });
  }
  void Expect(uint64_t sample, const Selection& selection, const UseTimes& times) const override {
    for (const uint32_t field : selection.fields) rows_[field]->Expect(sample, times);
  }
  absl::StatusOr<FetchOutcome> Fetch(uint64_t sample) const override {
    FetchOutcome all = {.is_kept = true};
    for (const auto& rows : rows_) {
      PENSTOCK_ASSIGN_OR_RETURN(const FetchOutcome one, rows->Fetch(sample));
      all.bytes += one.bytes;
      all.is_kept &= one.is_kept;
    }
    return all;
  }

  absl::Status CopyRows(const Selection& selection, std::span<const uint64_t> samples,
                        std::span<std::byte* const> blocks) const override {
    for (const uint64_t sample : samples) PENSTOCK_CHECK(sample < samples_);
    for (size_t i = 0; i < selection.fields.size(); ++i)
      PENSTOCK_RETURN_IF_ERROR(
          rows_[selection.fields[i]]->Copy(samples, blocks[selection.layout.tensors[i].block]));
    return absl::OkStatus();
  }

 private:
  absl::Status Add(NpyFile file) {
    if (file.name == kNpyLabel) {
      PENSTOCK_ASSIGN_OR_RETURN(labels_, ReadLabels(file));
      return absl::OkStatus();
    }
    PENSTOCK_ASSIGN_OR_RETURN(SampleField field, ToField(file));
    if (path_.empty()) path_ = file.path;
    const RowExtent extent = file.extent();
    std::unique_ptr<RowStore> rows;
    if (file.file.remote != nullptr) {
      rows = FetchRows(std::move(file.file.remote), extent);
    } else {
      PENSTOCK_ASSIGN_OR_RETURN(rows,
                                MapRows(std::move(file.file), std::move(file.opened), extent));
    }
    fields_.push_back(std::move(field));
    rows_.push_back(std::move(rows));
    return absl::OkStatus();
  }

  // The digest of names, types, shapes, rows and labels.
  absl::Status MakeDigest() {
    base::Hasher hasher;
    hasher.Add(samples_);
    for (size_t i = 0; i < fields_.size(); ++i) {
      hasher.Add(fields_[i].name);
      hasher.Add(static_cast<uint64_t>(fields_[i].type));
      hasher.Add(uint64_t{fields_[i].shape.size()});
      for (const uint32_t side : fields_[i].shape) hasher.Add(uint64_t{side});
      PENSTOCK_ASSIGN_OR_RETURN(const uint64_t rows, rows_[i]->Hash());
      hasher.Add(rows);
    }
    if (labels_) {
      const std::span<const std::byte> bytes = labels_->bytes();
      hasher.Add({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
    digest_ = hasher.Digest();
    return absl::OkStatus();
  }

  uint64_t samples_ = 0;
  std::string path_;  // of the first array
  std::vector<SampleField> fields_;
  std::vector<std::unique_ptr<RowStore>> rows_;  // one per field
  std::optional<NpyLabels> labels_;
  std::vector<std::string> classes_;
  uint64_t digest_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> OpenNpy(const NpyOptions& options, Parsers& parsers) {
  PENSTOCK_RETURN_IF_ERROR(Validate(options.spec));
  FileFinder finder(options.roots, options.confinement, options.remote);
  std::vector<NpyFile> files;
  for (const NpyArray& array : options.spec.arrays) {
    PENSTOCK_ASSIGN_OR_RETURN(NpyFile file, OpenFile(array, finder, parsers));
    if (file.name.empty()) file.name = NameOf(file.header);
    if (!files.empty() && file.header.items() != files[0].header.items())
      return Wrong(file, "it has ", file.header.items(), " samples, '", files[0].path, "' ",
                   files[0].header.items(), "; give arrays of one dataset");
    files.push_back(std::move(file));
  }
  return NpyDataset::Make(std::move(files));
}

absl::StatusOr<FilesStamp> NpyStamp(const NpyOptions& options) {
  std::vector<std::string> paths;
  for (const NpyArray& array : options.spec.arrays) paths.push_back(array.file);
  return FileFinder(options.roots, options.confinement, options.remote).Stamp(paths);
}

}  // namespace penstock::source
