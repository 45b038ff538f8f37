// How the daemon turns encoded images into the rows of a batch. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace penstock {

// Cuts a random box out of the image and resizes it to height × width. The defaults and the
// distribution are torchvision's.
struct RandomResizedCrop {
  uint32_t height = 224, width = 224;                   // pixels, 1 to 16384
  double scale_min = 0.08, scale_max = 1.0;             // share of the image's area, above 0
  double ratio_min = 3.0 / 4.0, ratio_max = 4.0 / 3.0;  // width / height of the box, above 0
};

// Resizes the shorter side to `resize`, then cuts out the middle height × width.
struct ResizeCenterCrop {
  uint32_t resize = 256;               // pixels, 1 to 16384
  uint32_t height = 224, width = 224;  // pixels, at most `resize`
};

// How pixels between others are computed: Pillow's filters of these names. kLanczos is for resizing
// only.
enum class Interpolation { kNearest = 1, kBilinear, kBicubic, kLanczos };

// What is added around an image: the fill; the last pixel; the image mirrored, without the last
// pixel or with it.
enum class PaddingMode { kConstant = 1, kEdge, kReflect, kSymmetric };

// What a step does to an image, with the meaning of torchvision's steps of these names. The proto's
// TransformOp lists the numbers of each.
enum class TransformOp {
  kCompose = 1,
  kRandomApply = 2,
  kRandomChoice = 3,
  kRandomOrder = 4,
  kHorizontalFlip = 10,
  kVerticalFlip = 11,
  kRotation = 12,
  kAffine = 13,
  kPerspective = 14,
  kPad = 15,
  kRandomCrop = 16,
  kCenterCrop = 17,
  kResize = 18,
  kRandomResizedCrop = 19,
  kRandomShortestSize = 20,
  kScaleJitter = 21,
  kRandomResize = 22,
  kColorJitter = 30,
  kRandomGrayscale = 31,
  kGaussianBlur = 32,
  kSolarize = 33,
  kPosterize = 34,
  kEqualize = 35,
  kAutocontrast = 36,
  kInvert = 37,
  kAdjustSharpness = 38,
  kRandAugment = 50,
  kTrivialAugmentWide = 51,
  kAutoAugment = 52,
  kAugMix = 53,
};

// One step of a recipe.
struct TransformStep {
  TransformOp op = TransformOp::kHorizontalFlip;
  std::vector<double> numbers = {};
  double probability = 1.0;  // that it is done, for the steps that have one
  Interpolation interpolation = Interpolation::kNearest;
  PaddingMode padding_mode = PaddingMode::kConstant;
  std::vector<TransformStep> steps = {};  // of a group
};

// Takes the image as it is; the steps make a row of it.
struct WholeImage {
  uint32_t height = 224, width = 224;  // pixels of a row
  // Images may be smaller than their rows after the steps: each is in its row's upper left corner,
  // and the rest is 0. A batch then has a tensor "image_size": int32, height and width.
  bool canvas = false;
};

// Channels of an image's rows: kRgb has three, kGray has one, the luma of Pillow's convert("L").
enum class Color { kRgb, kGray };

// How an image is decoded: whole_image if set, else center_crop, else random_crop, else
// RandomResizedCrop's defaults.
struct ImageOptions {
  std::optional<RandomResizedCrop> random_crop = {};
  std::optional<ResizeCenterCrop> center_crop = {};
  std::optional<WholeImage> whole_image = {};
  Interpolation interpolation = Interpolation::kBilinear;  // of the crop's resize
  double flip_probability = 0.0;                           // of a horizontal flip, 0 to 1
  // What is done to the image then, in this order. After a crop, the steps together keep its size;
  // after whole_image, they end with its size. At most 32, those within groups included.
  std::vector<TransformStep> steps = {};
  Color color = Color::kRgb;
  bool apply_exif_orientation = false;  // before the crop; ImageFolder ignores it, too
};

// Decodes JPEG files on the GPU's own JPEG engines, in this process, by nvJPEG. Rows differ a
// little from those of the daemon's workers, which decode what the engines do not take: progressive
// and gray files, CMYK, unusual sampling, large files. Which samples these are depends on their
// files and the share alone. Only random_crop and center_crop, in RGB, without steps.
//
// Start the program with CUDA_DEVICE_MAX_CONNECTIONS=32, which CUDA reads when the process first
// uses it. With its eight connections, nvJPEG's streams share one with the program's own, and wait
// for the work that is queued there. (The Python package sets it.)
struct GpuDecoding {
  double share = 1.0;  // of the samples that the engines can take, above 0, up to 1
  // Room for a sample's file in a batch; larger files are decoded by workers. 0: 384 KiB, or more
  // if a row is larger.
  uint32_t file_bytes = 0;
  std::string nvjpeg = {};  // path of libnvjpeg; empty: as the loader finds it
};

// A further image of each sample.
struct MoreImage {
  std::string name;    // of its tensor
  ImageOptions image;  // color and apply_exif_orientation as the session's
};

}  // namespace penstock
