#include "server/source/arrays/idx.h"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/hash.h"
#include "common/base/units.h"
#include "server/source/arrays/idx_format.h"
#include "server/source/core/content_digest.h"
#include "server/source/core/row_store.h"
#include "server/source/files/index_memory.h"

namespace penstock::source {
namespace {

// One file of the pair, opened, and the position of its items.
class IdxFile {
 public:
  static absl::StatusOr<IdxFile> Open(TreeFile file, IdxRole role, Parsers& parsers) {
    IdxFile idx(std::move(file));
    PENSTOCK_RETURN_IF_ERROR(idx.ReadHeader(role, parsers));
    return idx;
  }

  const IdxHeader& header() const { return header_; }
  std::string path() const { return file_.path(); }
  RowExtent extent() const {
    return {
        .offset = header_.header_bytes(), .row_bytes = header_.item_bytes, .rows = header_.items()};
  }

  // Reads all items into memory. Call it once.
  absl::StatusOr<std::unique_ptr<std::byte[]>> ReadItems(uint64_t max_unpacked_bytes) {
    const uint64_t bytes = extent().bytes();
    if (unpacked_ != nullptr && bytes > max_unpacked_bytes)
      return absl::ResourceExhaustedError(
          absl::StrCat("'", path(), "' unpacks to ", base::FormatBytes(bytes), "; at most ",
                       base::FormatBytes(max_unpacked_bytes),
                       " are allowed; unpack it on disk, or raise source.max_unpacked"));
    PENSTOCK_RETURN_IF_ERROR(CheckIndexMemory(bytes, path()));
    std::unique_ptr<std::byte[]> memory(new (std::nothrow) std::byte[bytes]);
    if (memory == nullptr)
      return absl::ResourceExhaustedError(absl::StrCat(
          "'", path(), "' needs ", base::FormatBytes(bytes), " of memory, which is not available"));
    const std::span<std::byte> into(memory.get(), bytes);
    if (unpacked_ == nullptr) {
      PENSTOCK_RETURN_IF_ERROR(ReadExactly(*opened_, path(), extent().offset, into));
    } else {
      PENSTOCK_RETURN_IF_ERROR(Unpack(into));
    }
    return memory;
  }

  absl::StatusOr<std::unique_ptr<RowStore>> Rows(uint64_t max_unpacked_bytes) && {
    if (unpacked_ == nullptr) return MapRows(std::move(file_), std::move(*opened_), extent());
    PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<std::byte[]> memory, ReadItems(max_unpacked_bytes));
    return KeepRows(std::move(memory), extent());
  }

 private:
  explicit IdxFile(TreeFile file) : file_(std::move(file)) {}

  absl::Status ReadHeader(IdxRole role, Parsers& parsers) {
    PENSTOCK_ASSIGN_OR_RETURN(posix::Fd opened, file_.Open());
    opened_ = std::make_unique<posix::Fd>(std::move(opened));
    PENSTOCK_ASSIGN_OR_RETURN(const FileState identity, file_.StateOf(*opened_));
    PENSTOCK_ASSIGN_OR_RETURN(
        IdxContent content,
        parsers.ReadIdx({.fd = *opened_, .path = path(), .bytes = identity.bytes}, role));
    header_ = content.header;
    unpacked_ = std::move(content.items);
    return unpacked_ == nullptr ? CheckSize(identity.bytes) : absl::OkStatus();
  }

  absl::Status CheckSize(uint64_t bytes) const {
    const uint64_t wanted = extent().offset + extent().bytes();
    if (bytes == wanted) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "'", path(), "' ", bytes < wanted ? "is truncated" : "has bytes after its last item",
        ": its header says ", header_.items(), " items of ", header_.item_bytes,
        " bytes, which end at byte ", wanted, "; the file ends at byte ", bytes));
  }

  absl::Status Unpack(std::span<std::byte> into) {
    PENSTOCK_ASSIGN_OR_RETURN(const size_t got, unpacked_->Read(into));
    std::byte beyond;
    PENSTOCK_ASSIGN_OR_RETURN(const size_t more, unpacked_->Read(std::span(&beyond, 1)));
    if (got == into.size() && more == 0) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "'", path(), "' ", more == 0 ? "is truncated" : "has bytes after its last item",
        ": its header says ", header_.items(), " items of ", header_.item_bytes,
        " bytes, which end at byte ", extent().offset + into.size(), " once unpacked; it ",
        more == 0 ? absl::StrCat("ends at byte ", extent().offset + got) : "goes on"));
  }

  TreeFile file_;
  std::unique_ptr<posix::Fd> opened_;  // on the heap, so that the content's reference stays valid
  IdxHeader header_;
  std::unique_ptr<UnpackedFile> unpacked_;  // null: not compressed
};

class IdxDataset final : public Dataset {
 public:
  IdxDataset(std::string path, const IdxHeader& images, std::unique_ptr<RowStore> rows,
             std::unique_ptr<std::byte[]> labels)
      : path_(std::move(path)),
        samples_(images.items()),
        shape_{images.sizes[1], images.sizes[2], images.dimensions == 4 ? images.sizes[3] : 1},
        rows_(std::move(rows)),
        labels_(std::move(labels)) {
    const auto last = *std::max_element(labels_.get(), labels_.get() + samples_);
    for (uint32_t c = 0; c <= std::to_integer<uint32_t>(last); ++c)
      classes_.push_back(absl::StrCat(c));
  }

  // The digest of shape, rows and labels; independent of how they are stored.
  absl::Status MakeDigest() {
    PENSTOCK_ASSIGN_OR_RETURN(const uint64_t rows, rows_->Hash());
    base::Hasher hasher;
    for (const uint64_t number : {samples_, uint64_t{shape_.height}, uint64_t{shape_.width},
                                  uint64_t{shape_.channels}, rows})
      hasher.Add(number);
    hasher.Add({reinterpret_cast<const char*>(labels_.get()), samples_});
    digest_ = hasher.Digest();
    return absl::OkStatus();
  }

  absl::string_view kind() const override { return "idx"; }
  uint64_t samples() const override { return samples_; }
  uint64_t digest() const override { return digest_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  int64_t label(uint64_t sample) const override {
    PENSTOCK_CHECK(sample < samples_);
    return std::to_integer<int64_t>(labels_[sample]);
  }
  void CopyLabels(std::span<const uint64_t> samples, std::byte* into) const override {
    CopyEach(samples, into, [this](uint64_t sample) { return IdxDataset::label(sample); });
  }
  std::string path(uint64_t sample) const override {
    PENSTOCK_CHECK(sample < samples_);
    return absl::StrCat(path_, "#", sample);
  }
  bool changed() const override { return rows_->changed(); }
  // The pieces of the images, plus one for the labels.
  uint64_t content_pieces() const override { return PiecesOf(rows_->bytes()) + 1; }
  absl::Status AddContent(uint64_t piece, Sha256& sum) const override {
    if (piece < PiecesOf(rows_->bytes())) {
      const auto read = [&](uint64_t offset, std::span<std::byte> into) {
        return rows_->Read(offset, into);
      };
      return AddPiece(rows_->bytes(), piece, read, sum);
    }
    sum.AddBytes({labels_.get(), samples_});
    return absl::OkStatus();
  }
  Storage storage() const override { return Storage::kRows; }
  std::vector<SampleField> fields() const override {
    return {{.name = kImage, .shape = {shape_.height, shape_.width, shape_.channels}}};
  }
  absl::Status CopyRows(const Selection&, std::span<const uint64_t> samples,
                        std::span<std::byte* const> blocks) const override {
    for (const uint64_t sample : samples) PENSTOCK_CHECK(sample < samples_);
    return rows_->Copy(samples, blocks.front());
  }

 private:
  const std::string path_;  // of the images
  const uint64_t samples_;
  const RowShape shape_;
  const std::unique_ptr<RowStore> rows_;
  const std::unique_ptr<std::byte[]> labels_;
  std::vector<std::string> classes_;
  uint64_t digest_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> OpenIdx(const IdxOptions& options, Parsers& parsers) {
  FileFinder finder(options.roots, options.confinement);
  PENSTOCK_ASSIGN_OR_RETURN(TreeFile images_at, finder.Find(options.files.images));
  PENSTOCK_ASSIGN_OR_RETURN(TreeFile labels_at, finder.Find(options.files.labels));
  PENSTOCK_ASSIGN_OR_RETURN(IdxFile images,
                            IdxFile::Open(std::move(images_at), IdxRole::kImages, parsers));
  PENSTOCK_ASSIGN_OR_RETURN(IdxFile labels,
                            IdxFile::Open(std::move(labels_at), IdxRole::kLabels, parsers));
  if (images.header().items() != labels.header().items())
    return absl::InvalidArgumentError(absl::StrCat(
        "'", images.path(), "' has ", images.header().items(), " images, '", labels.path(), "' ",
        labels.header().items(), " labels; use two files of the same dataset"));
  const std::string path = images.path();
  const IdxHeader header = images.header();
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<std::byte[]> label_bytes,
                            labels.ReadItems(options.max_unpacked_bytes));
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<RowStore> rows,
                            std::move(images).Rows(options.max_unpacked_bytes));
  auto dataset =
      std::make_unique<IdxDataset>(path, header, std::move(rows), std::move(label_bytes));
  PENSTOCK_RETURN_IF_ERROR(dataset->MakeDigest());
  return dataset;
}

absl::StatusOr<FilesStamp> IdxStamp(const IdxOptions& options) {
  const std::string paths[] = {options.files.images, options.files.labels};
  return FileFinder(options.roots, options.confinement).Stamp(paths);
}

}  // namespace penstock::source
