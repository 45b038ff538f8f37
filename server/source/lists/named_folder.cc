#include "server/source/lists/named_folder.h"

#include <re2/re2.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/hash.h"
#include "server/source/files/escape.h"
#include "server/source/files/roots.h"
#include "server/source/images/image_names.h"
#include "server/source/images/scan.h"
#include "server/source/lists/image_list.h"
#include "server/source/lists/labels.h"

namespace penstock::source {
namespace {

constexpr absl::string_view kFolderPrefix = "folder:";
constexpr absl::string_view kLabelOption = ",label=";
constexpr char kFolderKind[] = "folder";
constexpr size_t kLongestPattern = 1000;
constexpr int64_t kPatternMemory = 8 << 20;

// Takes the label out of paths.
class LabelPattern {
 public:
  explicit LabelPattern(const std::string& pattern) : regex_(pattern, Quiet()) {}

  absl::Status Check() const {
    if (!regex_.ok())
      return absl::InvalidArgumentError(absl::StrCat("the label's pattern '", regex_.pattern(),
                                                     "' is invalid: ", regex_.error()));
    if (regex_.NumberOfCapturingGroups() == 1) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "the label's pattern '", regex_.pattern(), "' has ", regex_.NumberOfCapturingGroups(),
        " groups, expected one, which is the label, like ([^/]*)_[0-9]+[.]jpg; write "
        "(?:…) for the others"));
  }
  bool Match(const std::string& path, std::string& label) const {
    return RE2::FullMatch(path, regex_, &label);
  }

 private:
  static RE2::Options Quiet() {
    RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(kPatternMemory);
    return options;
  }

  const RE2 regex_;
};

std::string PathIn(const ScannedFolder& folder, absl::string_view name) {
  return folder.path.empty() ? std::string(name) : absl::StrCat(folder.path, "/", name);
}

class ListOfFolder {
 public:
  ListOfFolder(const Tree& tree, const NamedFolderSpec& spec)
      : tree_(tree), spec_(spec), pattern_(spec.pattern), labels_(LabelsAs::kAuto) {}

  absl::Status Reserve(const ScannedPaths& paths) {
    return list_.Reserve(paths.count, paths.bytes, tree_.folder());
  }
  absl::Status Add(const ScannedFolder& folder) {
    states_.Add(folder.device);
    for (const ScannedFile& file : folder.files) {
      const std::string path = PathIn(folder, folder.NameOf(file));
      if (const absl::Status labelled = AddLabel(path); !labelled.ok())
        return base::Annotate(labelled,
                              absl::StrCat("'", EscapeForDisplay(tree_.FullPath(path)), "'"));
      constexpr uint64_t kLargest = std::numeric_limits<uint32_t>::max();
      list_.paths.insert(list_.paths.end(), path.begin(), path.end());
      list_.files.push_back({.path_end = list_.paths.size(),
                             .stamp = file.stamp,
                             .bytes = static_cast<uint32_t>(std::min(file.bytes, kLargest))});
      states_.Add(file.stamp);
    }
    return absl::OkStatus();
  }

  ImageList Finish() {
    Labels labels = labels_.Finish();
    list_.labeled = true;
    list_.labels = std::move(labels.values);
    list_.classes = std::move(labels.classes);
    return std::move(list_);
  }
  uint64_t states() const { return states_.Digest(); }

 private:
  absl::Status AddLabel(const std::string& path) {
    std::string label;
    if (pattern_.Match(path, label)) return labels_.Add(label);
    return absl::InvalidArgumentError(absl::StrCat(
        "the label's pattern '", spec_.pattern, "' does not match '", EscapeForDisplay(path),
        "' as a whole; correct the pattern, or move the file"));
  }

  const Tree& tree_;
  const NamedFolderSpec& spec_;
  const LabelPattern pattern_;
  LabelCollector labels_;
  ImageList list_;
  base::Hasher states_;
};

absl::Status WrongFolderText(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "': ", why,
                   "; wanted folder:/FOLDER,label=PATTERN, a regular expression with one group, "
                   "which is the label, like folder:/data/images,label=([^/]*)_[0-9]+[.]jpg"));
}

absl::StatusOr<Scan> ScanNamed(const Tree& tree, const NamedFolderOptions& options) {
  ScanOptions scan = {.threads = options.threads, .progress = {}, .scan_for = ScanFor::kImages};
  if (options.progress)
    scan.progress = [&](const ScanProgress& progress) { return options.progress(progress.found); };
  return ScanDataset(tree, scan);
}

}  // namespace

absl::Status Validate(const NamedFolderSpec& spec) {
  if (!absl::StartsWith(spec.folder, "/"))
    return absl::InvalidArgumentError(absl::StrCat("the folder: got '", spec.folder,
                                                   "', wanted an absolute path like /data/images"));
  if (spec.pattern.size() > kLongestPattern)
    return absl::InvalidArgumentError(absl::StrCat("the label's pattern has ", spec.pattern.size(),
                                                   " bytes, expected at most ", kLongestPattern));
  return LabelPattern(spec.pattern).Check();
}

bool IsNamedFolderText(absl::string_view text) { return absl::StartsWith(text, kFolderPrefix); }

absl::StatusOr<NamedFolderSpec> ParseNamedFolderText(absl::string_view text) {
  absl::string_view rest = text;
  if (!absl::ConsumePrefix(&rest, kFolderPrefix))
    return WrongFolderText(text, "it does not begin with folder:");
  const size_t at = rest.find(kLabelOption.data(), 0, kLabelOption.size());
  if (at == absl::string_view::npos) return WrongFolderText(text, "the label's pattern is missing");
  NamedFolderSpec spec = {.folder = std::string(rest.substr(0, at)),
                          .pattern = std::string(rest.substr(at + kLabelOption.size()))};
  PENSTOCK_RETURN_IF_ERROR(Validate(spec));
  return spec;
}

std::string ToString(const NamedFolderSpec& spec) {
  return absl::StrCat(kFolderPrefix, spec.folder, kLabelOption, spec.pattern);
}

absl::StatusOr<OpenedNamedFolder> OpenNamedFolder(const NamedFolderOptions& options) {
  PENSTOCK_RETURN_IF_ERROR(Validate(options.spec));
  std::vector<std::string> roots = options.roots;
  if (roots.empty()) roots.push_back(options.spec.folder);
  auto folder = ResolveUnderRoots(options.spec.folder, roots);
  if (!folder.ok()) return base::Annotate(folder.status(), "opening a dataset");
  PENSTOCK_ASSIGN_OR_RETURN(Tree tree,
                            Tree::Open(*folder, CanonicalRoots(roots), options.confinement));
  PENSTOCK_ASSIGN_OR_RETURN(const Scan scan, ScanNamed(tree, options));
  ListOfFolder list(tree, options.spec);
  PENSTOCK_RETURN_IF_ERROR(list.Reserve(CountPaths(scan)));
  for (const ScannedFolder& each : scan.folders) PENSTOCK_RETURN_IF_ERROR(list.Add(each));
  ImageList images = list.Finish();
  if (images.files.empty())
    return absl::NotFoundError(absl::StrCat("'", tree.folder(), "' holds no images: looked for ",
                                            "files that end in ", kImageExtensions));
  OpenedNamedFolder opened = {.dataset =
                                  MakeImageList(kFolderKind, std::move(tree), std::move(images))};
  opened.identity = absl::StrCat(absl::Hex(opened.dataset->digest(), absl::kZeroPad16),
                                 absl::Hex(list.states(), absl::kZeroPad16));
  return opened;
}

}  // namespace penstock::source
