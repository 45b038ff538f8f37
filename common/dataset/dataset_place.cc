#include "common/dataset/dataset_place.h"

#include <algorithm>

#include "absl/strings/string_view.h"

namespace penstock::dataset {
namespace {

// The part of `text` from the first slash up to `end`.
std::string PathUpTo(absl::string_view text, absl::string_view end) {
  const size_t begin = text.find('/');
  if (begin == absl::string_view::npos) return "";
  text.remove_prefix(begin);
  return std::string(text.substr(0, text.find(end)));
}

std::string FolderOfPattern(std::string path) {
  const size_t brace = path.find('{');
  if (brace == std::string::npos) return path;
  path.resize(path.rfind('/', brace));
  return path.empty() ? "/" : path;
}

}  // namespace

std::string PlaceOfDataset(const std::string& kind, const std::string& shown) {
  for (const char* text :
       {"cifar:", "coco:", "folder:", "list:", "npy:", "pairs:", "tokens:", "voc:", "yolo:"})
    if (shown.starts_with(text)) return FolderOfPattern(PathUpTo(shown, ","));
  if (shown.empty() || shown[0] != '/') return "";
  if (kind == "folder" || kind == "idx") return shown;
  // Shards, or a dataset of unknown kind because it is not indexed yet.
  const std::string first = PathUpTo(shown, ", /");
  return FolderOfPattern(first.substr(0, std::min(first.find(" image="), first.find(" label="))));
}

}  // namespace penstock::dataset
