// Opens `voc`: the folders of Pascal VOC.
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "server/source/annotated/note_files.h"
#include "server/source/annotated/opening.h"

namespace penstock::source {
namespace {

// VOC's own, in alphabetical order.
constexpr absl::string_view kVocClasses =
    "aeroplane bicycle bird boat bottle bus car cat chair cow diningtable dog horse motorbike "
    "person pottedplant sheep sofa train tvmonitor";

std::string SplitFile(const VocSpec& spec) {
  return absl::StrCat(spec.folder, "/ImageSets/", spec.segmentation ? "Segmentation" : "Main", "/",
                      spec.split, ".txt");
}

absl::StatusOr<std::vector<std::string>> ClassesOf(const VocSpec& spec, AnnotatedOpening& opening) {
  if (spec.names.empty()) return std::vector<std::string>(absl::StrSplit(kVocClasses, ' '));
  PENSTOCK_ASSIGN_OR_RETURN(ReadNamesOf names, opening.ReadClasses(spec.names));
  return std::move(names.names);
}

absl::Status CheckNames(const ReadNamesOf& split) {
  for (size_t i = 0; i < split.names.size(); ++i)
    if (split.names[i].find_first_of(" \t") != std::string::npos)
      return absl::InvalidArgumentError(absl::StrCat(
          split.path, ":", split.lines[i], ": got '", split.names[i],
          "', wanted one name per line; lists of one class, like cat_train, are not read"));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<OpenedAnnotated> OpenVoc(const VocSpec& spec, AnnotatedOpening& opening) {
  if (spec.segmentation)
    return OpenPairs({.images = absl::StrCat(spec.folder, "/JPEGImages"),
                      .masks = absl::StrCat(spec.folder, "/SegmentationClass"),
                      .image_suffix = ".jpg",
                      .split = SplitFile(spec)},
                     KindOf(opening.options().spec), opening);
  PENSTOCK_ASSIGN_OR_RETURN(Tree tree, opening.OpenFolder(spec.folder));
  PENSTOCK_ASSIGN_OR_RETURN(std::vector<std::string> classes, ClassesOf(spec, opening));
  PENSTOCK_ASSIGN_OR_RETURN(const ReadNamesOf split, opening.ReadNames(SplitFile(spec)));
  PENSTOCK_RETURN_IF_ERROR(CheckNames(split));
  ImageList images;
  NoteFiles notes = {
      .tree = tree, .format = NoteFormat::kVoc, .class_names = absl::StrJoin(classes, "\n")};
  for (size_t i = 0; i < split.names.size(); ++i) {
    images.AddFile(absl::StrCat("JPEGImages/", split.names[i], ".jpg"), split.lines[i]);
    notes.paths.push_back(absl::StrCat("Annotations/", split.names[i], ".xml"));
  }
  PENSTOCK_RETURN_IF_ERROR(opening.ExamineFiles(tree, images, split.path));
  PENSTOCK_ASSIGN_OR_RETURN(ReadNoteFiles read, ReadAllNotes(notes, opening));
  read.objects.boxes = {.kind = base::TargetKind::kBoxes, .format = base::BoxFormat::kCorners};
  return opening.Finish({.kind = KindOf(opening.options().spec),
                         .tree = std::move(tree),
                         .images = std::move(images),
                         .objects = std::move(read.objects),
                         .classes = std::move(classes)},
                        "");
}

}  // namespace penstock::source
