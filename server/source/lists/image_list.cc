#include "server/source/lists/image_list.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "common/base/check.h"
#include "common/base/hash.h"
#include "server/source/files/index_memory.h"
#include "server/source/files/listing.h"
#include "server/source/files/parallel_for.h"
#include "server/source/lists/listed_images.h"

namespace penstock::source {
namespace {

constexpr uint64_t kListedPerTask = 256;
constexpr size_t kRequestsInFlight = 16;  // over a network the latency dominates

uint32_t SizeOf(const FileState& state) {
  constexpr uint64_t kLargest = std::numeric_limits<uint32_t>::max();
  return static_cast<uint32_t>(std::min(state.bytes, kLargest));
}

absl::StatusOr<struct stat> StatBeneath(const Tree& tree, const std::string& relative) {
  PENSTOCK_ASSIGN_OR_RETURN(const posix::Fd file, tree.OpenBeneath(relative, O_PATH));
  struct stat stat {};
  if (::fstat(file.get(), &stat) == 0) return stat;
  return base::ErrnoStatus(errno, absl::StrCat("'", tree.FullPath(relative), "'"));
}

// Sets one file's size and stamp, and adds its state to `device`. If the file changed within the
// last clock tick, waits until no later change can have the same time.
absl::Status ExamineOne(const Tree& tree, const std::string& path, ListedFile& file,
                        uint64_t& device) {
  PENSTOCK_ASSIGN_OR_RETURN(struct stat stat, StatBeneath(tree, path));
  if (WaitForTick(CtimeOf(stat)) == Waited::kYes) {
    PENSTOCK_ASSIGN_OR_RETURN(stat, StatBeneath(tree, path));
  }
  const FileState state = tree.StateOf(stat);
  file.bytes = SizeOf(state);
  file.stamp = S_ISREG(stat.st_mode) ? StampOf(state) : kNoFile;
  device = stat.st_dev;
  if (!S_ISDIR(stat.st_mode)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", tree.FullPath(path), "' is a folder; name an image in it"));
}

class ListReader final : public Dataset::Reader {
 public:
  explicit ListReader(std::shared_ptr<const ListedImages> images)
      : images_(images), reader_(MakeImageReader(std::move(images))) {}

  absl::StatusOr<Opened> Open(uint64_t sample) override {
    sample_ = sample;
    return reader_->Open(sample);
  }
  absl::Status Read(std::span<std::byte> into) override { return reader_->Read(into); }
  absl::StatusOr<base::Fault> ReadFields(const Selection& selection,
                                         std::span<std::byte* const> rows) override {
    for (size_t i = 0; i < selection.fields.size(); ++i) {
      const ListColumn& column = images_->list.columns[selection.fields[i]];
      std::memcpy(rows[selection.layout.tensors[i].block], &column.values[sample_],
                  base::ElementBytes(column.type));
    }
    return base::Fault::kNone;
  }

 private:
  std::shared_ptr<const ListedImages> images_;  // shared with the dataset and its other readers
  std::unique_ptr<Dataset::Reader> reader_;
  uint64_t sample_ = 0;
};

class ListDataset final : public Dataset {
 public:
  ListDataset(absl::string_view kind, std::shared_ptr<const ListedImages> images)
      : kind_(kind), images_(std::move(images)), digest_(MakeDigest()) {}

  absl::string_view kind() const override { return kind_; }
  uint64_t samples() const override { return list().files.size(); }
  uint64_t digest() const override { return digest_; }
  const std::vector<std::string>& classes() const override { return list().classes; }
  bool labeled() const override { return list().labeled; }
  int64_t label(uint64_t sample) const override {
    PENSTOCK_CHECK(sample < samples());
    return list().labeled ? list().labels[sample] : 0;
  }
  std::string path(uint64_t sample) const override { return images_->DisplayPath(sample); }
  std::optional<Extent> extent(uint64_t sample) const override {
    return images_->FindExtent(sample);
  }
  uint64_t stamp(uint64_t sample) const override { return images_->StampAt(sample); }
  bool changed() const override { return images_->changed.load(); }
  bool IsUnchanged(uint64_t sample) const override { return images_->IsUnchanged(sample); }
  std::vector<SampleField> fields() const override {
    std::vector<SampleField> fields;
    for (const ListColumn& column : list().columns)
      fields.push_back({.name = column.name, .type = column.type});
    return fields;
  }

  // Each sample is a piece.
  uint64_t content_pieces() const override { return samples(); }
  absl::Status AddContent(uint64_t sample, Sha256& sum) const override {
    sum.Add(list().PathOf(sample));
    sum.Add(static_cast<uint64_t>(label(sample)));
    for (const ListColumn& column : list().columns) sum.Add(column.values[sample]);
    return AddFileContent(images_, sample, sum);
  }
  std::unique_ptr<Reader> NewReader() const override {
    return std::make_unique<ListReader>(images_);
  }

 private:
  const ImageList& list() const { return images_->list; }

  // Of paths, sizes, labels, classes and columns.
  uint64_t MakeDigest() const {
    base::Hasher hasher;
    hasher.Add(uint64_t{samples()});
    for (uint64_t sample = 0; sample < samples(); ++sample) {
      hasher.Add(list().PathOf(sample));
      hasher.Add(uint64_t{list().files[sample].bytes});
      hasher.Add(static_cast<uint64_t>(label(sample)));
    }
    hasher.Add(uint64_t{list().labeled});
    for (const std::string& name : list().classes) hasher.Add(name);
    for (const ListColumn& column : list().columns) {
      hasher.Add(column.name);
      hasher.Add(static_cast<uint64_t>(column.type));
      hasher.Add(base::Hash(std::as_bytes(std::span(column.values))));
    }
    return hasher.Digest();
  }

  const absl::string_view kind_;
  // Shared with the readers, which may outlive the dataset.
  const std::shared_ptr<const ListedImages> images_;
  const uint64_t digest_;
};

}  // namespace

bool ListedImages::IsUnchanged(uint64_t sample) const {
  const auto stat = StatBeneath(tree, RelativePath(sample));
  if (!stat.ok()) return false;
  const bool is_file = S_ISREG(stat->st_mode);
  return (is_file ? StampOf(tree.StateOf(*stat)) : kNoFile) == StampAt(sample);
}

std::optional<Extent> ListedImages::FindExtent(uint64_t sample) const {
  const ListedFile& file = FileOf(sample);
  if (file.stamp == kNoFile || file.bytes == std::numeric_limits<uint32_t>::max())
    return std::nullopt;
  return Extent{tree.FullPath(list.PathOf(sample)), 0, file.bytes};
}

absl::string_view ImageList::PathOf(uint64_t sample) const {
  PENSTOCK_CHECK(sample < files.size());
  const uint64_t begin = sample == 0 ? 0 : files[sample - 1].path_end;
  return {paths.data() + begin, files[sample].path_end - begin};
}

absl::Status ImageList::Reserve(uint64_t count, uint64_t path_bytes, absl::string_view named_by) {
  constexpr uint64_t kOfFile = sizeof(ListedFile) + sizeof(uint64_t);  // Examine keeps its device
  PENSTOCK_RETURN_IF_ERROR(CheckIndexMemory(count * kOfFile + path_bytes, named_by));
  files.reserve(count);
  paths.reserve(path_bytes);
  return absl::OkStatus();
}

void ImageList::AddFile(const FromFolder::Path& path, uint32_t line) {
  paths.insert(paths.end(), path.up.begin(), path.up.end());
  paths.insert(paths.end(), path.rest.begin(), path.rest.end());
  files.push_back({.path_end = paths.size(), .line = line});
}

absl::StatusOr<uint64_t> Examine(const Tree& tree, ImageList& list, const ExamineOptions& options) {
  std::atomic<uint64_t> examined{0};
  std::vector<uint64_t> devices(list.files.size());
  if (options.missing != nullptr) options.missing->assign(list.files.size(), 0);
  ParallelFor parallel_for;
  parallel_for.threads =
      tree.is_local() ? options.threads : std::max(options.threads, kRequestsInFlight);
  if (options.progress) parallel_for.watch = [&] { return options.progress(examined.load()); };
  const uint64_t tasks = (list.files.size() + kListedPerTask - 1) / kListedPerTask;
  PENSTOCK_RETURN_IF_ERROR(parallel_for.ForEach(tasks, [&](size_t task) {
    const uint64_t end = std::min<uint64_t>((task + 1) * kListedPerTask, list.files.size());
    for (uint64_t i = task * kListedPerTask; i < end; ++i) {
      ListedFile& file = list.files[i];
      const absl::Status status = ExamineOne(tree, std::string(list.PathOf(i)), file, devices[i]);
      ++examined;
      if (options.missing != nullptr && absl::IsNotFound(status)) {
        (*options.missing)[i] = true;
        continue;
      }
      if (!status.ok() && file.line > 0)
        return base::Annotate(status, absl::StrCat(options.list, ":", file.line));
      PENSTOCK_RETURN_IF_ERROR(status);
    }
    return absl::OkStatus();
  }));
  base::Hasher states;
  for (uint64_t i = 0; i < list.files.size(); ++i) {
    states.Add(list.files[i].stamp);
    states.Add(devices[i]);
  }
  return states.Digest();
}

std::unique_ptr<Dataset> MakeImageList(absl::string_view kind, Tree tree, ImageList list) {
  PENSTOCK_CHECK(!list.files.empty());
  return std::make_unique<ListDataset>(
      kind, std::make_shared<const ListedImages>(std::move(tree), std::move(list)));
}

FromFolder::FromFolder(const std::string& folder)
    : beneath_(folder == "/" ? folder : folder + "/") {
  for (const char c : beneath_.substr(1))
    if (c == '/') up_ += "../";
}

FromFolder::Path FromFolder::Find(absl::string_view path) const {
  if (!absl::StartsWith(path, "/")) return {.up = "", .rest = path};
  if (absl::StartsWith(path, beneath_)) return {.up = "", .rest = path.substr(beneath_.size())};
  return {.up = up_, .rest = path.substr(1)};
}

std::string RelativeToFolder(const std::string& folder, absl::string_view path) {
  const FromFolder from(folder);
  const FromFolder::Path found = from.Find(path);
  return absl::StrCat(found.up, found.rest);
}

}  // namespace penstock::source
