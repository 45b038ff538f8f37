#include "server/source/cifar/cifar.h"

#include <algorithm>
#include <filesystem>
#include <new>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/hash.h"
#include "server/source/cifar/cifar_pickle.h"
#include "server/source/core/content_digest.h"
#include "server/source/core/row_store.h"
#include "server/source/files/index_memory.h"

namespace penstock::source {
namespace {

constexpr uint64_t kPlane = 32 * 32;
constexpr uint64_t kChannels = 3;
constexpr uint64_t kMostCifarImages = 10'000'000;
static_assert(kCifarImageBytes == kPlane * kChannels);

// Which files.
struct CifarFiles {
  std::vector<std::string> paths = {};
  bool pickled = false;  // the Python version
  bool hundred = false;  // CIFAR-100
  CifarLabels labels = CifarLabels::kFine;
  std::vector<std::string> classes = {};

  // Of the binary version. Records of CIFAR-100 begin with the coarse label, then have the fine
  // one.
  uint64_t label_bytes() const { return hundred ? 2 : 1; }
  uint64_t label_at() const { return hundred && labels == CifarLabels::kFine ? 1 : 0; }
  uint64_t record() const { return label_bytes() + kCifarImageBytes; }
};

bool Exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

absl::StatusOr<CifarFiles> FilesOfCifar(const CifarSpec& spec) {
  const bool test = spec.split == CifarSplit::kTest;
  const auto at = [&](absl::string_view name) { return absl::StrCat(spec.folder, "/", name); };
  for (const absl::string_view end : {".bin", ""}) {
    CifarFiles files = {.pickled = end.empty(), .labels = spec.labels};
    const auto named = [&](absl::string_view name) { return at(absl::StrCat(name, end)); };
    if (Exists(named("data_batch_1")) || Exists(named("test_batch"))) {
      if (spec.labels == CifarLabels::kCoarse)
        return absl::InvalidArgumentError(absl::StrCat(
            "'", spec.folder, "' has CIFAR-10, which has no coarse labels; leave labels= out"));
      if (test) files.paths = {named("test_batch")};
      for (int i = 1; i <= 5 && !test; ++i)
        files.paths.push_back(named(absl::StrCat("data_batch_", i)));
      files.classes = Cifar10Classes();
      return files;
    }
    if (!Exists(named("train")) && !Exists(named("test"))) continue;
    files.paths = {named(test ? "test" : "train")};
    files.hundred = true;
    files.classes = Cifar100Classes(spec.labels);
    return files;
  }
  return absl::NotFoundError(
      absl::StrCat("'", spec.folder,
                   "' does not have CIFAR's files: data_batch_1.bin to "
                   "data_batch_5.bin and test_batch.bin, or train.bin and test.bin, or the same "
                   "without .bin; give the folder that holds them"));
}

struct CifarRows {
  std::vector<uint8_t> labels;
  std::unique_ptr<std::byte[]> images;
};

// Moves the channels last.
void Interleave(const std::byte* planes, std::byte* image) {
  for (uint64_t pixel = 0; pixel < kPlane; ++pixel)
    for (uint64_t channel = 0; channel < kChannels; ++channel)
      image[pixel * kChannels + channel] = planes[channel * kPlane + pixel];
}

class CifarLoader {
 public:
  CifarLoader(const CifarFiles& files, FileFinder& finder, Parsers& parsers)
      : files_(files), finder_(finder), parsers_(parsers) {}

  absl::StatusOr<CifarRows> Load() {
    uint64_t rows = 0;
    std::vector<Part> parts;
    for (const std::string& path : files_.paths) {
      PENSTOCK_ASSIGN_OR_RETURN(Part part, Open(path));
      rows += part.rows;
      parts.push_back(std::move(part));
    }
    if (rows > kMostCifarImages)
      return absl::InvalidArgumentError(absl::StrCat(
          "'", files_.paths[0], "': got ", rows, " images, expected at most ", kMostCifarImages));
    const uint64_t bytes = rows * kCifarImageBytes;
    PENSTOCK_RETURN_IF_ERROR(CheckIndexMemory(bytes, files_.paths[0]));
    CifarRows all;
    all.images.reset(new (std::nothrow) std::byte[bytes]);
    if (all.images == nullptr)
      return absl::ResourceExhaustedError(
          absl::StrCat("'", files_.paths[0], "' needs ", bytes, " bytes of memory; free some"));
    all.labels.reserve(rows);
    for (const Part& part : parts) PENSTOCK_RETURN_IF_ERROR(Read(part, all));
    return all;
  }

 private:
  // One file: where its images begin, and how many bytes from one to the next.
  struct Part {
    TreeFile file;
    posix::Fd opened;
    uint64_t rows = 0;
    uint64_t offset = 0, record = 0;
    std::vector<uint8_t> labels = {};  // of a pickle; in the binary version they are in the records
  };

  absl::StatusOr<Part> Open(const std::string& path) {
    PENSTOCK_ASSIGN_OR_RETURN(TreeFile file, finder_.Find(path));
    PENSTOCK_ASSIGN_OR_RETURN(posix::Fd opened, file.Open());
    PENSTOCK_ASSIGN_OR_RETURN(const FileState state, file.StateOf(opened));
    if (files_.pickled) return OpenPickle(std::move(file), std::move(opened), state.bytes);
    if (state.bytes == 0 || state.bytes % files_.record() != 0)
      return absl::InvalidArgumentError(
          absl::StrCat("'", path, "' has ", state.bytes, " bytes, expected a multiple of ",
                       files_.record(), ", the size of labels and an image; download it again"));
    return Part{.file = std::move(file),
                .opened = std::move(opened),
                .rows = state.bytes / files_.record(),
                .offset = files_.label_bytes(),
                .record = files_.record()};
  }

  absl::StatusOr<Part> OpenPickle(TreeFile file, posix::Fd opened, uint64_t bytes) {
    PENSTOCK_ASSIGN_OR_RETURN(
        CifarBatch batch, parsers_.ReadCifar({.fd = opened, .path = file.path(), .bytes = bytes}));
    std::vector<uint8_t>& labels = !files_.hundred                       ? batch.labels
                                   : files_.labels == CifarLabels::kFine ? batch.fine_labels
                                                                         : batch.coarse_labels;
    if (labels.size() != batch.images)
      return absl::InvalidArgumentError(absl::StrCat(
          "'", file.path(), "' has no ", files_.hundred ? "fine and coarse labels" : "labels",
          "; its name says that it is of CIFAR-", files_.hundred ? 100 : 10,
          "; download it again"));
    return Part{.file = std::move(file),
                .opened = std::move(opened),
                .rows = batch.images,
                .offset = batch.data_offset,
                .record = kCifarImageBytes,
                .labels = std::move(labels)};
  }

  // Reads records of a label's bytes and an image, or images alone.
  absl::Status Read(const Part& part, CifarRows& all) const {
    constexpr uint64_t kAtOnce = 256;
    std::vector<std::byte> records;
    const uint64_t before = files_.pickled ? 0 : files_.label_bytes();
    for (uint64_t first = 0; first < part.rows; first += kAtOnce) {
      const uint64_t count = std::min(kAtOnce, part.rows - first);
      records.resize(count * part.record);
      PENSTOCK_RETURN_IF_ERROR(ReadExactly(part.opened, part.file.path(),
                                           part.offset - before + first * part.record, records));
      for (uint64_t i = 0; i < count; ++i) {
        const std::byte* record = records.data() + i * part.record;
        const uint8_t label = files_.pickled ? part.labels[first + i]
                                             : std::to_integer<uint8_t>(record[files_.label_at()]);
        PENSTOCK_RETURN_IF_ERROR(Take(part, first + i, label, record + before, all));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Take(const Part& part, uint64_t row, uint8_t label, const std::byte* planes,
                    CifarRows& all) const {
    if (label >= files_.classes.size())
      return absl::InvalidArgumentError(absl::StrCat(
          "'", part.file.path(), "': image ", row, " has the label ", label, ", expected 0 to ",
          files_.classes.size() - 1, "; these are not CIFAR's files"));
    Interleave(planes, all.images.get() + all.labels.size() * kCifarImageBytes);
    all.labels.push_back(label);
    return absl::OkStatus();
  }

  const CifarFiles& files_;
  FileFinder& finder_;
  Parsers& parsers_;
};

class CifarDataset final : public Dataset {
 public:
  CifarDataset(const CifarSpec& spec, CifarFiles files, CifarRows rows)
      : text_(ToString(spec)),
        classes_(std::move(files.classes)),
        labels_(std::move(rows.labels)),
        rows_(KeepRows(std::move(rows.images),
                       {.offset = 0, .row_bytes = kCifarImageBytes, .rows = labels_.size()})) {}

  absl::Status MakeDigest() {
    PENSTOCK_ASSIGN_OR_RETURN(const uint64_t rows, rows_->Hash());
    base::Hasher hasher;
    hasher.Add(rows);
    hasher.Add(base::Hash(std::as_bytes(std::span(labels_))));
    hasher.Add(uint64_t{classes_.size()});
    digest_ = hasher.Digest();
    return absl::OkStatus();
  }

  absl::string_view kind() const override { return "cifar"; }
  uint64_t samples() const override { return labels_.size(); }
  uint64_t digest() const override { return digest_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  int64_t label(uint64_t sample) const override {
    PENSTOCK_CHECK(sample < labels_.size());
    return labels_[sample];
  }
  std::string path(uint64_t sample) const override {
    PENSTOCK_CHECK(sample < labels_.size());
    return absl::StrCat(text_, "#", sample);
  }
  // The pieces of the images, plus one for the labels.
  uint64_t content_pieces() const override { return PiecesOf(rows_->bytes()) + 1; }
  absl::Status AddContent(uint64_t piece, Sha256& sum) const override {
    if (piece < PiecesOf(rows_->bytes())) {
      const auto read = [&](uint64_t offset, std::span<std::byte> into) {
        return rows_->Read(offset, into);
      };
      return AddPiece(rows_->bytes(), piece, read, sum);
    }
    sum.AddBytes(std::as_bytes(std::span(labels_)));
    return absl::OkStatus();
  }
  Storage storage() const override { return Storage::kRows; }
  std::vector<SampleField> fields() const override {
    return {{.name = kImage, .shape = {32, 32, kChannels}}};
  }
  absl::Status CopyRows(const Selection&, std::span<const uint64_t> samples,
                        std::span<std::byte* const> blocks) const override {
    for (const uint64_t sample : samples) PENSTOCK_CHECK(sample < labels_.size());
    return rows_->Copy(samples, blocks.front());
  }

 private:
  const std::string text_;
  const std::vector<std::string> classes_;
  const std::vector<uint8_t> labels_;
  const std::unique_ptr<RowStore> rows_;
  uint64_t digest_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> OpenCifar(const CifarOptions& options, Parsers& parsers) {
  PENSTOCK_ASSIGN_OR_RETURN(CifarFiles files, FilesOfCifar(options.spec));
  FileFinder finder(options.roots, options.confinement);
  PENSTOCK_ASSIGN_OR_RETURN(CifarRows rows, CifarLoader(files, finder, parsers).Load());
  auto dataset = std::make_unique<CifarDataset>(options.spec, std::move(files), std::move(rows));
  PENSTOCK_RETURN_IF_ERROR(dataset->MakeDigest());
  return dataset;
}

absl::StatusOr<FilesStamp> CifarStamp(const CifarOptions& options) {
  PENSTOCK_ASSIGN_OR_RETURN(const CifarFiles files, FilesOfCifar(options.spec));
  return FileFinder(options.roots, options.confinement).Stamp(files.paths);
}

}  // namespace penstock::source
