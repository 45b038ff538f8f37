// Opens `coco`: images, and one JSON file about all of them.
#include <cstring>
#include <utility>

#include "server/source/annotated/opening.h"

namespace penstock::source {
namespace {

constexpr char kImageId[] = "image_id";

base::TargetSpec PointsOf(const Annotations& all) {
  base::TargetSpec spec = {.kind = base::TargetKind::kPoints};
  spec.pairs = static_cast<uint32_t>(all.pairs.size() / 2);
  if (!all.pairs.empty()) std::memcpy(spec.pair, all.pairs.data(), all.pairs.size());
  return spec;
}

absl::StatusOr<Annotations> ReadAnnotations(const CocoSpec& spec, AnnotatedOpening& opening) {
  Annotations all;
  uint64_t found = 0;
  ScanWatch watch;
  if (const auto progress = opening.options().progress) {
    watch.found = [&found](uint64_t more) { found += more; };
    watch.cancelled = [&found, progress] { return !progress(found); };
  }
  PENSTOCK_RETURN_IF_ERROR(
      opening.ReadFile(spec.annotations, kMostAnnotationBytes, [&](const ForeignFile& file) {
        auto read = opening.parsers().ReadCoco(file, spec, watch);
        if (!read.ok()) return read.status();
        all = *std::move(read);
        return absl::OkStatus();
      }));
  return all;
}

}  // namespace

absl::StatusOr<OpenedAnnotated> OpenCoco(const CocoSpec& spec, AnnotatedOpening& opening) {
  PENSTOCK_ASSIGN_OR_RETURN(Tree tree, opening.OpenFolder(spec.images));
  PENSTOCK_ASSIGN_OR_RETURN(Annotations all, ReadAnnotations(spec, opening));
  ImageList images = {.columns = {{.name = kImageId}}};
  ObjectTable objects = {.points = all.points};
  PENSTOCK_RETURN_IF_ERROR(
      AddRows(all.images, all.paths, FromFolder(tree.folder()), spec.annotations, images));
  uint64_t end = 0;
  for (const AnnotatedImage& image : all.images) {
    images.columns[0].values.push_back(static_cast<uint64_t>(image.id));
    objects.ends.push_back(end += image.objects);
  }
  objects.columns = std::move(all.columns);
  objects.boxes = {.kind = base::TargetKind::kBoxes, .format = base::BoxFormat::kCornerAndSize};
  objects.keypoints = PointsOf(all);
  PENSTOCK_RETURN_IF_ERROR(opening.ExamineFiles(tree, images, spec.annotations));
  return opening.Finish({.kind = KindOf(opening.options().spec),
                         .tree = std::move(tree),
                         .images = std::move(images),
                         .objects = std::move(objects),
                         .classes = std::move(all.classes)},
                        std::move(all.warning));
}

}  // namespace penstock::source
