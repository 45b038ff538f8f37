// What names the datasets whose images have a mask or annotations (see ../README.md), as users
// write it. Plain values; pure.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/status.h"

namespace penstock::source {

// pairs:images=/FOLDER,masks=/FOLDER: a mask of the same name for each image.
struct PairsSpec {
  std::string images = {}, masks = {};  // folders
  std::string image_suffix = {};        // empty: the name's extension
  std::string mask_suffix = ".png";     // in its place
  std::string split = {};               // a file that lists the samples; empty: all images
  bool skip_missing = false;            // leaves out images without a mask
  bool operator==(const PairsSpec&) const = default;
};

// coco:annotations=/FILE.json,images=/FOLDER
struct CocoSpec {
  std::string annotations = {};
  std::string images = {};  // the folder
  bool skip_empty = false;  // leaves out images without annotations
  bool contiguous = false;  // numbers categories from 1, instead of their ids
  bool skip_crowd = false;  // leaves out annotations of crowds
  bool operator==(const CocoSpec&) const = default;
};

// voc:/FOLDER,split=NAME
struct VocSpec {
  std::string folder = {};
  std::string split = {};     // a file of ImageSets/Main or ImageSets/Segmentation, without .txt
  bool segmentation = false;  // masks instead of boxes
  std::string names = {};     // a file of classes; empty: VOC's own
  bool operator==(const VocSpec&) const = default;
};

// yolo:images=/FOLDER
struct YoloSpec {
  std::string images = {};
  std::string labels = {};  // empty: where Ultralytics looks
  std::string names = {};   // a file of classes; empty: they have no names
  bool operator==(const YoloSpec&) const = default;
};

using AnnotatedSpec = std::variant<PairsSpec, CocoSpec, VocSpec, YoloSpec>;

// "pairs", "coco", "voc", "yolo".
absl::string_view KindOf(const AnnotatedSpec& spec);

// Whether the text begins as one of them does.
bool IsAnnotatedText(absl::string_view text);
// **Errors**: InvalidArgument names the part that is not understood or missing.
absl::StatusOr<AnnotatedSpec> ParseAnnotatedText(absl::string_view text);
std::string ToString(const AnnotatedSpec& spec);

// The files and folders that it names; and the folders alone.
std::vector<std::string*> PathsOf(AnnotatedSpec& spec);
std::vector<std::string> FoldersOf(const AnnotatedSpec& spec);

}  // namespace penstock::source
