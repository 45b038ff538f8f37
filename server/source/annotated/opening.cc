#include "server/source/annotated/opening.h"

#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/units.h"
#include "server/source/files/index_memory.h"
#include "server/source/files/listing.h"
#include "server/source/files/python_order.h"
#include "server/source/files/roots.h"
#include "server/source/files/tree_file.h"

namespace penstock::source {
namespace {

bool IsYaml(absl::string_view path) {
  return absl::EndsWithIgnoreCase(path, ".yaml") || absl::EndsWithIgnoreCase(path, ".yml");
}

}  // namespace

absl::Status CheckMemoryOfNames(uint64_t count, uint64_t bytes, absl::string_view path) {
  constexpr uint64_t kOfName = 256, kCopies = 6;
  return CheckIndexMemory(count * kOfName + bytes * kCopies, path);
}

AnnotatedOpening::AnnotatedOpening(const AnnotatedOptions& options, Parsers& parsers)
    : options_(options),
      parsers_(parsers),
      roots_(options.roots.empty() ? FoldersOf(options.spec) : options.roots) {}

absl::StatusOr<Tree> AnnotatedOpening::OpenFolder(const std::string& folder) const {
  std::vector<std::string> roots = roots_;
  if (options_.roots.empty()) roots.push_back(folder);
  auto real = ResolveUnderRoots(folder, roots);
  if (!real.ok()) return base::Annotate(real.status(), "opening a dataset");
  return Tree::Open(*real, CanonicalRoots(roots), options_.confinement);
}

absl::Status AnnotatedOpening::ReadFile(
    const std::string& path, uint64_t most,
    const std::function<absl::Status(const ForeignFile&)>& read) {
  FileFinder finder(options_.roots, options_.confinement);
  const std::string paths[] = {path};
  PENSTOCK_ASSIGN_OR_RETURN(const TreeFile file, finder.Find(path));
  PENSTOCK_ASSIGN_OR_RETURN(FilesStamp before, finder.Stamp(paths));
  if (WaitForTick(before.changed_ns) == Waited::kYes) {
    PENSTOCK_ASSIGN_OR_RETURN(before, finder.Stamp(paths));
  }
  PENSTOCK_ASSIGN_OR_RETURN(const posix::Fd opened, file.Open());
  PENSTOCK_ASSIGN_OR_RETURN(const FileState state, file.StateOf(opened));
  if (state.bytes > most)
    return absl::InvalidArgumentError(absl::StrCat("'", file.path(), "' has ",
                                                   base::FormatBytes(state.bytes),
                                                   ", expected at most ", base::FormatBytes(most)));
  PENSTOCK_RETURN_IF_ERROR(read({.fd = opened, .path = file.path(), .bytes = state.bytes}));
  PENSTOCK_ASSIGN_OR_RETURN(const FilesStamp after, finder.Stamp(paths));
  if (before.stamp != after.stamp)
    return absl::AbortedError(absl::StrCat(
        "'", file.path(), "' changed while it was read; open it again when it is complete"));
  states_.Add(after.stamp);
  return absl::OkStatus();
}

absl::StatusOr<ReadNamesOf> AnnotatedOpening::ReadNames(const std::string& path) {
  ReadNamesOf all;
  PENSTOCK_RETURN_IF_ERROR(ReadFile(path, kMostNamesBytes, [&](const ForeignFile& file) {
    all.path = file.path;
    const auto list =
        parsers_.ReadNames(file, IsYaml(path) ? NamesFormat::kYaml : NamesFormat::kLines);
    if (!list.ok()) return list.status();
    const uint64_t count = list->rows.size();
    PENSTOCK_RETURN_IF_ERROR(CheckMemoryOfNames(count, list->paths.size(), file.path));
    all.names.reserve(count);
    all.lines.reserve(count);
    const char* at = list->paths.data();
    for (const ListedRow& row : list->rows) {
      all.names.emplace_back(at, row.path_bytes);
      all.lines.push_back(row.line);
      at += row.path_bytes;
    }
    return absl::OkStatus();
  }));
  return all;
}

absl::StatusOr<ReadNamesOf> AnnotatedOpening::ReadClasses(const std::string& path) {
  PENSTOCK_ASSIGN_OR_RETURN(ReadNamesOf all, ReadNames(path));
  std::set<absl::string_view> seen;
  for (size_t i = 0; i < all.names.size(); ++i) {
    const std::string& name = all.names[i];
    const bool good = IsUtf8(name) && name.size() <= kLongestClassName;
    if (good && i < kMostAnnotatedClasses && seen.insert(name).second) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        all.path, ":", all.lines[i],
        ": the class is there twice, is too long, is no UTF-8, or there are more than ",
        kMostAnnotatedClasses));
  }
  return all;
}

absl::Status AnnotatedOpening::ExamineFiles(const Tree& tree, ImageList& list,
                                            const std::string& names,
                                            std::vector<uint8_t>* missing) {
  PENSTOCK_ASSIGN_OR_RETURN(const uint64_t states, Examine(tree, list,
                                                           {.threads = options_.threads,
                                                            .list = names,
                                                            .progress = options_.progress,
                                                            .missing = missing}));
  states_.Add(states);
  return absl::OkStatus();
}

OpenedAnnotated AnnotatedOpening::Finish(AnnotatedParts parts, std::string warning) const {
  OpenedAnnotated opened = {.dataset = MakeAnnotatedImages(std::move(parts)),
                            .warning = std::move(warning)};
  opened.identity = absl::StrCat(absl::Hex(opened.dataset->digest(), absl::kZeroPad16),
                                 absl::Hex(states_.Digest(), absl::kZeroPad16));
  return opened;
}

absl::StatusOr<OpenedAnnotated> OpenAnnotated(const AnnotatedOptions& options, Parsers& parsers) {
  AnnotatedOpening opening(options, parsers);
  if (const auto* pairs = std::get_if<PairsSpec>(&options.spec))
    return OpenPairs(*pairs, KindOf(options.spec), opening);
  if (const auto* coco = std::get_if<CocoSpec>(&options.spec)) return OpenCoco(*coco, opening);
  if (const auto* voc = std::get_if<VocSpec>(&options.spec)) return OpenVoc(*voc, opening);
  return OpenYolo(std::get<YoloSpec>(options.spec), opening);
}

}  // namespace penstock::source
