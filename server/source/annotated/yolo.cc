// Opens `yolo`: images, and a text with boxes for each, as Ultralytics lays them out.
#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/source/annotated/folder_images.h"
#include "server/source/annotated/note_files.h"
#include "server/source/annotated/opening.h"
#include "server/source/files/index_memory.h"
#include "server/source/files/python_order.h"

namespace penstock::source {
namespace {

// Ultralytics' rule: the last /images/ of a path becomes /labels/.
std::string ToLabels(std::string path) {
  constexpr absl::string_view kImages = "/images/", kLabels = "/labels/";
  const size_t at = path.rfind(kImages.data(), std::string::npos, kImages.size());
  if (at != std::string::npos) path.replace(at, kImages.size(), kLabels.data(), kLabels.size());
  return path;
}

std::string WithTxt(absl::string_view path) {
  return absl::StrCat(path.substr(0, path.rfind('.')), ".txt");
}

// Where the labels are: their folder, and each image's file in it.
class LabelRule {
 public:
  explicit LabelRule(const YoloSpec& spec) : images_(spec.images), folder_(spec.labels) {
    while (absl::EndsWith(images_, "/")) images_.pop_back();
    follows_ = folder_.empty();
    if (follows_) folder_ = ToLabels(images_ + "/");
    while (folder_.size() > 1 && absl::EndsWith(folder_, "/")) folder_.pop_back();
  }

  // Opens their folder. If the rule names one that does not exist, the images' folder stands for
  // it: folders called images may be in there, too.
  absl::StatusOr<Tree> OpenFolder(const AnnotatedOpening& opening) {
    absl::StatusOr<Tree> opened = opening.OpenFolder(folder_);
    if (!follows_ || !absl::IsNotFound(opened.status())) return opened;
    folder_ = images_;
    return opening.OpenFolder(folder_);
  }
  // Relative to the tree of that folder. `image`: relative to the images' folder.
  std::string LabelOf(const std::string& image, const Tree& labels) const {
    if (!follows_) return WithTxt(image);
    const std::string path = WithTxt(ToLabels(absl::StrCat(images_, "/", image)));
    absl::string_view relative = path;
    if (absl::ConsumePrefix(&relative, folder_ + "/")) return std::string(relative);
    return RelativeToFolder(labels.folder(), path);
  }

 private:
  std::string images_, folder_;
  bool follows_ = false;
};

// Whether each object's class has a name. **Requires**: there are names.
absl::Status CheckClasses(const ObjectTable& objects, const NoteFiles& notes, size_t names) {
  const auto labels =
      std::find_if(objects.columns.begin(), objects.columns.end(),
                   [](const ObjectColumn& column) { return column.what == ObjectValue::kLabels; });
  uint64_t object = 0;
  for (size_t sample = 0; sample < objects.ends.size(); ++sample)
    for (; object < objects.ends[sample]; ++object) {
      int64_t label = 0;
      std::memcpy(&label, labels->values.data() + object * sizeof label, sizeof label);
      if (label < static_cast<int64_t>(names)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("'", notes.tree.FullPath(notes.paths[sample]), "' has an object of class ",
                       label, "; the file of names has ", names, " names, from 0"));
    }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<OpenedAnnotated> OpenYolo(const YoloSpec& spec, AnnotatedOpening& opening) {
  LabelRule rule(spec);
  PENSTOCK_ASSIGN_OR_RETURN(Tree tree, opening.OpenFolder(spec.images));
  PENSTOCK_ASSIGN_OR_RETURN(const Tree labels, rule.OpenFolder(opening));
  ReadNamesOf classes;
  if (!spec.names.empty()) {
    PENSTOCK_ASSIGN_OR_RETURN(classes, opening.ReadClasses(spec.names));
  }
  PENSTOCK_ASSIGN_OR_RETURN(std::vector<std::string> paths,
                            ImagesInFolder(tree, opening.options()));
  std::sort(paths.begin(), paths.end(), PythonLess);  // whole paths, as Ultralytics
  ImageList images;
  NoteFiles notes = {.tree = labels, .format = NoteFormat::kYolo, .may_lack = true};
  IndexMemory memory;  // of paths that lead far up
  for (const std::string& path : paths) {
    images.AddFile(path);
    notes.paths.push_back(rule.LabelOf(path, labels));
    PENSTOCK_RETURN_IF_ERROR(memory.Take(notes.paths.back().size(), spec.images));
  }
  PENSTOCK_RETURN_IF_ERROR(opening.ExamineFiles(tree, images));
  PENSTOCK_ASSIGN_OR_RETURN(ReadNoteFiles read, ReadAllNotes(notes, opening));
  if (read.missing == paths.size())
    return absl::NotFoundError(absl::StrCat(
        "none of ", paths.size(), " images has a file of labels: looked for '",
        labels.FullPath(notes.paths[0]), "' and the like; labels= names their folder"));
  if (!spec.names.empty())
    PENSTOCK_RETURN_IF_ERROR(CheckClasses(read.objects, notes, classes.names.size()));
  read.objects.boxes = {
      .kind = base::TargetKind::kBoxes, .format = base::BoxFormat::kCenterAndSize, .relative = 1};
  return opening.Finish({.kind = KindOf(opening.options().spec),
                         .tree = std::move(tree),
                         .images = std::move(images),
                         .objects = std::move(read.objects),
                         .classes = std::move(classes.names)},
                        "");
}

}  // namespace penstock::source
