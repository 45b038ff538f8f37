#include "server/source/annotated/note_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/base/units.h"
#include "common/posix/memory.h"
#include "server/source/files/listing.h"
#include "server/source/files/parallel_for.h"
#include "server/source/files/read_exactly.h"

namespace penstock::source {
namespace {

constexpr uint64_t kNotesPerTask = 256;
constexpr size_t kBatchBytes = size_t{1} << 20;  // a batch ends with the file that exceeds this
constexpr size_t kReadsInFlight = 16;            // over a network the latency dominates

// Memory that an indexer can read and nobody can change.
absl::StatusOr<posix::Fd> ToMemory(const std::string& bytes) {
  PENSTOCK_ASSIGN_OR_RETURN(const posix::Fd memory,
                            posix::MakeMemory("penstock-notes", bytes.size()));
  PENSTOCK_ASSIGN_OR_RETURN(const posix::Mapping mapping,
                            posix::Mapping::Map(memory, bytes.size(), posix::Access::kReadWrite));
  std::memcpy(mapping.data(), bytes.data(), bytes.size());
  return posix::ReadOnlyView(memory);
}

void Append(Annotations more, Annotations& all) {
  if (all.columns.empty()) {
    all = std::move(more);
    return;
  }
  all.images.insert(all.images.end(), more.images.begin(), more.images.end());
  for (size_t i = 0; i < std::min(all.columns.size(), more.columns.size()); ++i) {
    std::vector<std::byte>& into = all.columns[i].values;
    into.insert(into.end(), more.columns[i].values.begin(), more.columns[i].values.end());
  }
}

// One thread's part of the files.
class NotesTask {
 public:
  NotesTask(const NoteFiles& files, Parsers& parsers)
      : files_(files), parsers_(parsers), batch_(files.class_names) {}

  absl::Status Run(uint64_t begin, uint64_t end, std::atomic<uint64_t>& done) {
    for (uint64_t i = begin; i < end; ++i) {
      PENSTOCK_RETURN_IF_ERROR(Add(files_.paths[i]));
      if (batch_.content_bytes() >= kBatchBytes) PENSTOCK_RETURN_IF_ERROR(Parse());
      ++done;
    }
    std::string().swap(text_);  // there are many tasks
    return batch_.files() > 0 ? Parse() : absl::OkStatus();
  }

  Annotations found = {};
  std::vector<uint64_t> states = {};  // two for each file; zeros if it is missing
  uint64_t missing = 0;

 private:
  absl::Status Add(const std::string& path) {
    if (batch_.files() == 0) first_ = files_.tree.FullPath(path);
    const absl::StatusOr<posix::Fd> opened = files_.tree.OpenBeneath(path, O_RDONLY | O_NONBLOCK);
    if (absl::IsNotFound(opened.status()) && files_.may_lack) {
      ++missing;
      states.insert(states.end(), 2, 0);
      batch_.Add(path, "");
      return absl::OkStatus();
    }
    PENSTOCK_RETURN_IF_ERROR(opened.status());
    const std::string shown = files_.tree.FullPath(path);
    PENSTOCK_ASSIGN_OR_RETURN(struct stat before, StatOf(*opened, shown));
    if (WaitForTick(CtimeOf(before)) == Waited::kYes) {
      PENSTOCK_ASSIGN_OR_RETURN(before, StatOf(*opened, shown));
    }
    if (!S_ISREG(before.st_mode))
      return absl::InvalidArgumentError(absl::StrCat("'", shown, "' is not a regular file"));
    const FileState state = files_.tree.StateOf(before);
    if (state.bytes > kMostNoteBytes)
      return absl::InvalidArgumentError(absl::StrCat(
          "'", shown, "' has ", base::FormatBytes(state.bytes),
          ", expected annotations of one image, at most ", base::FormatBytes(kMostNoteBytes)));
    text_.resize(state.bytes);
    PENSTOCK_RETURN_IF_ERROR(
        ReadExactly(*opened, shown, 0, std::as_writable_bytes(std::span(text_))));
    PENSTOCK_ASSIGN_OR_RETURN(const struct stat after, StatOf(*opened, shown));
    if (files_.tree.StateOf(after) != state)
      return absl::AbortedError(absl::StrCat(
          "'", shown, "' changed while it was read; open it again when it is complete"));
    states.push_back(StampOf(state));
    states.push_back(before.st_dev);
    batch_.Add(shown, text_);
    return absl::OkStatus();
  }

  static absl::StatusOr<struct stat> StatOf(const posix::Fd& file, const std::string& path) {
    struct stat stat {};
    if (::fstat(file.get(), &stat) == 0) return stat;
    return base::ErrnoStatus(errno, absl::StrCat("'", path, "'"));
  }

  absl::Status Parse() {
    const uint64_t notes = batch_.files();
    const std::string bytes = batch_.Finish();
    PENSTOCK_ASSIGN_OR_RETURN(const posix::Fd memory, ToMemory(bytes));
    const ForeignFile file = {
        .fd = memory, .path = absl::StrCat(first_, " and those after it"), .bytes = bytes.size()};
    PENSTOCK_ASSIGN_OR_RETURN(Annotations more, parsers_.ReadNotes(file, notes, files_.format));
    Append(std::move(more), found);
    return absl::OkStatus();
  }

  const NoteFiles& files_;
  Parsers& parsers_;
  NoteBatchWriter batch_;
  std::string first_, text_;
};

}  // namespace

absl::StatusOr<ReadNoteFiles> ReadAllNotes(const NoteFiles& files, AnnotatedOpening& opening) {
  const uint64_t count = files.paths.size();
  const uint64_t tasks = (count + kNotesPerTask - 1) / kNotesPerTask;
  std::vector<NotesTask> parts;
  for (uint64_t i = 0; i < tasks; ++i) parts.emplace_back(files, opening.parsers());
  std::atomic<uint64_t> done{0};
  ParallelFor parallel_for;
  const size_t threads = opening.options().threads;
  parallel_for.threads = files.tree.is_local() ? threads : std::max(threads, kReadsInFlight);
  if (const auto progress = opening.options().progress)
    parallel_for.watch = [&done, progress] { return progress(done.load()); };
  PENSTOCK_RETURN_IF_ERROR(parallel_for.ForEach(tasks, [&](size_t i) {
    return parts[i].Run(i * kNotesPerTask, std::min<uint64_t>((i + 1) * kNotesPerTask, count),
                        done);
  }));
  ReadNoteFiles read;
  Annotations all;
  for (NotesTask& part : parts) {
    read.missing += part.missing;
    for (const uint64_t state : part.states) opening.AddState(state);
    Append(std::move(part.found), all);
    part.found = {};
  }
  uint64_t objects = 0;
  for (const AnnotatedImage& image : all.images)
    read.objects.ends.push_back(objects += image.objects);
  read.objects.columns = std::move(all.columns);
  return read;
}

}  // namespace penstock::source
