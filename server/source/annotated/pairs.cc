// Opens `pairs`: images, and a mask of the same name for each.
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/source/annotated/folder_images.h"
#include "server/source/annotated/opening.h"
#include "server/source/files/escape.h"

namespace penstock::source {
namespace {

// The images of a dataset, and their names without suffix.
struct NamedImages {
  ImageList images = {};
  std::vector<std::string> stems = {};
  std::string names = {};  // the file that names them; empty: none
};

// The name without its suffix; nullopt: it has another one.
std::optional<std::string> StemOf(absl::string_view path, const std::string& suffix) {
  if (suffix.empty()) return std::string(path.substr(0, path.rfind('.')));
  if (!absl::ConsumeSuffix(&path, suffix)) return std::nullopt;
  return std::string(path);
}

absl::StatusOr<NamedImages> AllImages(const PairsSpec& spec, const Tree& tree,
                                      AnnotatedOpening& opening) {
  NamedImages all;
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                            ImagesInFolder(tree, opening.options()));
  for (const std::string& path : paths) {
    std::optional<std::string> stem = StemOf(path, spec.image_suffix);
    if (!stem) continue;
    all.images.AddFile(path);
    all.stems.push_back(*std::move(stem));
  }
  if (!all.stems.empty()) return all;
  return absl::NotFoundError(absl::StrCat("'", tree.folder(), "' holds ", paths.size(),
                                          " images; none has a name that ends in '",
                                          spec.image_suffix, "' (image_suffix)"));
}

// The images of a folder, by their names without suffix.
class ImagesByStem {
 public:
  static absl::StatusOr<ImagesByStem> Make(const Tree& tree, AnnotatedOpening& opening) {
    ImagesByStem all;
    PENSTOCK_ASSIGN_OR_RETURN(std::vector<std::string> paths,
                              ImagesInFolder(tree, opening.options()));
    for (std::string& path : paths) {
      const std::string stem = *StemOf(path, "");
      const auto [there, is_new] = all.paths_.emplace(stem, std::move(path));
      if (!is_new) all.twice_.emplace(stem, there->second);
    }
    return all;
  }
  absl::StatusOr<std::string> Find(const std::string& stem) const {
    const auto found = paths_.find(stem);
    if (found == paths_.end())
      return absl::NotFoundError(
          absl::StrCat("there is no image '", EscapeForDisplay(stem), ".*'"));
    if (twice_.count(stem) == 0) return found->second;
    return absl::InvalidArgumentError(absl::StrCat("several images are called '",
                                                   EscapeForDisplay(stem),
                                                   ".*'; say which with image_suffix="));
  }

 private:
  std::map<std::string, std::string> paths_, twice_;
};

absl::StatusOr<NamedImages> SplitImages(const PairsSpec& spec, const Tree& tree,
                                        AnnotatedOpening& opening) {
  NamedImages all;
  PENSTOCK_ASSIGN_OR_RETURN(ReadNamesOf split, opening.ReadNames(spec.split));
  std::optional<ImagesByStem> by_stem;
  if (spec.image_suffix.empty()) {
    PENSTOCK_ASSIGN_OR_RETURN(by_stem, ImagesByStem::Make(tree, opening));
  }
  for (size_t i = 0; i < split.names.size(); ++i) {
    absl::StatusOr<std::string> path = split.names[i] + spec.image_suffix;
    if (by_stem) path = by_stem->Find(split.names[i]);
    if (!path.ok())
      return base::Annotate(path.status(), absl::StrCat(split.path, ":", split.lines[i]));
    all.images.AddFile(*path, split.lines[i]);
  }
  all.stems = std::move(split.names);
  all.names = std::move(split.path);
  return all;
}

// The images and masks of samples that have both.
struct Pairs {
  ImageList images = {}, masks = {};
};

absl::StatusOr<Pairs> KeepThoseWithMasks(Pairs all, const std::vector<uint8_t>& missing,
                                         const Tree& masks, bool skip, uint64_t& left_out) {
  Pairs kept;
  for (size_t i = 0; i < missing.size(); ++i) {
    if (missing[i] != 0) {
      ++left_out;
      if (skip) continue;
      return absl::NotFoundError(
          absl::StrCat("the image '", EscapeForDisplay(std::string(all.images.PathOf(i))),
                       "' has no mask: '", EscapeForDisplay(masks.FullPath(all.masks.PathOf(i))),
                       "' does not exist; missing=skip leaves out such images"));
    }
    for (auto [from, into] : {std::pair(&all.images, &kept.images), {&all.masks, &kept.masks}}) {
      into->AddFile(from->PathOf(i));
      into->files.back().stamp = from->files[i].stamp;
      into->files.back().bytes = from->files[i].bytes;
    }
  }
  if (!kept.images.files.empty()) return kept;
  return absl::NotFoundError(
      absl::StrCat("none of ", missing.size(), " images has a mask: looked for '",
                   EscapeForDisplay(masks.FullPath(all.masks.PathOf(0))), "' and the like"));
}

}  // namespace

absl::StatusOr<OpenedAnnotated> OpenPairs(const PairsSpec& spec, absl::string_view kind,
                                          AnnotatedOpening& opening) {
  PENSTOCK_ASSIGN_OR_RETURN(Tree tree, opening.OpenFolder(spec.images));
  PENSTOCK_ASSIGN_OR_RETURN(Tree mask_tree, opening.OpenFolder(spec.masks));
  PENSTOCK_ASSIGN_OR_RETURN(NamedImages named, spec.split.empty()
                                                   ? AllImages(spec, tree, opening)
                                                   : SplitImages(spec, tree, opening));
  Pairs pairs = {.images = std::move(named.images)};
  for (size_t i = 0; i < named.stems.size(); ++i)
    pairs.masks.AddFile(named.stems[i] + spec.mask_suffix, pairs.images.files[i].line);
  PENSTOCK_RETURN_IF_ERROR(opening.ExamineFiles(tree, pairs.images, named.names));
  std::vector<uint8_t> missing;
  PENSTOCK_RETURN_IF_ERROR(opening.ExamineFiles(mask_tree, pairs.masks, named.names, &missing));
  uint64_t left_out = 0;
  PENSTOCK_ASSIGN_OR_RETURN(
      pairs, KeepThoseWithMasks(std::move(pairs), missing, mask_tree, spec.skip_missing, left_out));
  std::string warning;
  if (left_out > 0)
    warning = absl::StrCat(left_out, " of ", missing.size(),
                           " images have no mask; they are left out (missing=skip)");
  return opening.Finish({.kind = kind,
                         .tree = std::move(tree),
                         .images = std::move(pairs.images),
                         .masks = MaskFiles{std::move(mask_tree), std::move(pairs.masks)}},
                        std::move(warning));
}

}  // namespace penstock::source
