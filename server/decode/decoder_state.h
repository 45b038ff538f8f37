// What a Decoder keeps between samples, and the steps of decoding. Private to this folder.
#pragma once

#include <vector>

#include "common/base/aligned_buffer.h"
#include "server/augment/recipe/runner.h"
#include "server/decode/canvas.h"
#include "server/decode/core/placement.h"
#include "server/decode/decoder.h"
#include "server/decode/jpeg/jpeg_reader.h"
#include "server/decode/oriented_reader.h"
#include "server/decode/png/png_reader.h"
#include "server/decode/raster/bmp_reader.h"
#include "server/decode/raster/gif_reader.h"
#include "server/decode/raster/netpbm_reader.h"
#include "server/decode/raster/webp_reader.h"
#include "server/decode/recipe_resizer.h"
#include "server/decode/resample/resampler.h"
#include "server/decode/targets.h"
#include "server/decode/tiff/tiff_reader.h"

namespace penstock::decode {

using base::Fault;

// libjpeg-turbo writes vector-aligned rows with non-temporal stores, which bypass the cache. The
// resampler reads the rows next and would have to wait for memory, so misalign them.
constexpr size_t kMisalignment = 4;
constexpr size_t kStrideMultiple = 64;

// Takes the first channels of RGBX pixels.
void Pack(const uint8_t* rgbx, size_t pixels, uint32_t channels, uint8_t* out);

struct Decoder::State {
  explicit State(const SampleLimits& limits)
      : limits(limits),
        jpeg(limits.max_scans),
        resampler(BestKernels()),
        runner({.max_pixels = limits.max_pixels}, &resizer),
        targets(&runner) {}

  Fault ReadHeader(std::span<const std::byte> file, Exif exif);
  Fault Open(std::span<const std::byte> file, Exif exif);  // header, and image_room
  Fault DecodeToRoom();
  ImageReader* ReaderFor(Kind kind);
  Fault FillPlace(std::span<const std::byte> file, const Spec& spec, const DrawKey& key,
                  std::span<std::byte> place);
  Fault FillPlaceWithPixels(const Spec& spec, const DrawKey& key, std::span<std::byte> place);
  Fault DecodeRow(const Spec& spec, const DrawKey& key, std::span<std::byte> row);
  Fault DecodeResized(const Spec& spec, const DrawKey& key, std::span<std::byte> row);
  Fault DecodeWhole(const Spec& spec, const DrawKey& key, const augment::ImageView& row);
  // The image's part that begins at the window's corner, in `color`.
  Fault DecodePart(Color color, const Box& window, const augment::ImageView& part);
  Fault RunRecipe(const Spec& spec, const DrawKey& key, const augment::ImageView& image,
                  const augment::ImageView& row);
  Fault FillTargets(const Decoder::Wanted& wanted, std::span<const TargetRow> rows);
  Fault DecodeWindow(const Box& window, Color color);

  // Several rows of one image (views.cc). `part` then holds the window's RGBX rows.
  Fault DecodeTogether(std::span<const Decoder::Wanted> wanted);
  Fault DecodeToPart(const Box& window, Color color);
  Fault DecodeView(const Decoder::Wanted& view, const Box& window);
  Fault CopyWhole(const Decoder::Wanted& view, const Box& window);
  void ResizePart(const Placement& placement, const augment::ImageView& row);
  const uint8_t* PartAt(uint32_t x, uint32_t y) const {
    return part.data() + y * part_stride + kMisalignment + reader->window_offset() + size_t{4} * x;
  }

  size_t RowStride() const;  // of the reader's window
  void PrepareStaging();

  const SampleLimits limits;
  JpegReader jpeg;
  PngReader png;
  WebpReader webp;
  GifReader gif;
  BmpReader bmp;
  NetpbmReader netpbm;
  TiffReader tiff;
  OrientedReader oriented;
  ImageReader* reader = nullptr;    // for the current file
  ImageRoom* image_room = nullptr;  // of the next file
  Resampler resampler;
  base::AlignedBuffer staging;
  uint8_t* rows[kRowsAtOnce];           // in staging, as written by the reader
  const uint8_t* columns[kRowsAtOnce];  // … starting at the first column that the resampler needs
  std::vector<uint8_t> gray_as_rgb;     // the row before it is reduced to one channel
  std::vector<std::byte> moved;         // a file that was where its row is to be
  base::AlignedBuffer part;             // of an image, from which several rows are made
  size_t part_stride = 0;
  RecipeResizer resizer;
  augment::RecipeRunner runner;
  std::vector<augment::RecipeAction> plan;  // of the last recipe that ran
  augment::ImageSize made = {};             // by it, or by the geometry before it
  RowCanvas canvas;
  TargetFiller targets;
};

}  // namespace penstock::decode
