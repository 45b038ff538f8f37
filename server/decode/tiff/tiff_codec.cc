#include "server/decode/tiff/tiff_codec.h"

#include <tiffio.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

namespace penstock::decode {
namespace {

using base::Fault;

constexpr uint64_t kLeastMemory = 16 << 20;  // enough for a strip, tile or table of a small image
constexpr uint64_t kMostPixelBytes = 8;

struct MemoryFile {
  std::span<const std::byte> bytes;
  uint64_t at = 0;
  bool failed = false, out_of_memory = false;
};

tmsize_t ReadFile(thandle_t handle, void* into, tmsize_t count) {
  auto* file = static_cast<MemoryFile*>(handle);
  if (count < 0 || file->at > file->bytes.size()) return 0;
  const size_t bytes = std::min<size_t>(count, file->bytes.size() - file->at);
  std::memcpy(into, file->bytes.data() + file->at, bytes);
  file->at += bytes;
  return static_cast<tmsize_t>(bytes);
}

tmsize_t WriteNothing(thandle_t, void*, tmsize_t) { return 0; }

toff_t SeekFile(thandle_t handle, toff_t offset, int whence) {
  auto* file = static_cast<MemoryFile*>(handle);
  if (whence == SEEK_CUR) offset += file->at;
  if (whence == SEEK_END) offset += file->bytes.size();
  return file->at = offset;
}

int CloseNothing(thandle_t) { return 0; }

toff_t SizeOfFile(thandle_t handle) { return static_cast<MemoryFile*>(handle)->bytes.size(); }

// Lets libtiff read compressed data in place; it doesn't write to it.
int MapFile(thandle_t handle, void** base, toff_t* size) {
  auto* file = static_cast<MemoryFile*>(handle);
  *base = const_cast<std::byte*>(file->bytes.data());
  *size = file->bytes.size();
  return 1;
}

void UnmapNothing(thandle_t, void*, toff_t) {}

// Only the text of the message tells that memory ran out.
int TakeError(TIFF*, void* user_data, const char*, const char* format, va_list arguments) {
  auto* file = static_cast<MemoryFile*>(user_data);
  char text[256] = "";
  std::vsnprintf(text, sizeof(text), format, arguments);
  file->failed = true;
  for (const std::string_view words : {"memory", "No space", "llocat"})
    if (std::string_view(text).find(words) != std::string_view::npos) file->out_of_memory = true;
  return 1;
}

// A JPEG smaller than its strip leaves the rest of the strip uninitialised.
int TakeWarning(TIFF*, void* user_data, const char*, const char* format, va_list) {
  constexpr std::string_view kTooSmall = "Improper JPEG strip/tile size";
  if (std::string_view(format).substr(0, kTooSmall.size()) == kTooSmall)
    static_cast<MemoryFile*>(user_data)->failed = true;
  return 1;
}

struct CloseTiff {
  void operator()(TIFF* tiff) const { TIFFClose(tiff); }
};
using Tiff = std::unique_ptr<TIFF, CloseTiff>;

struct FreeOptions {
  void operator()(TIFFOpenOptions* options) const { TIFFOpenOptionsFree(options); }
};

uint64_t MostMemory(const TiffLayout& layout) {
  return std::max(kLeastMemory, kMostPixelBytes * layout.width * layout.height);
}

Tiff Open(MemoryFile& file, const TiffLayout& layout) {
  const std::unique_ptr<TIFFOpenOptions, FreeOptions> options(TIFFOpenOptionsAlloc());
  if (options == nullptr) {
    file.out_of_memory = true;
    return nullptr;
  }
  const uint64_t most = MostMemory(layout) + file.bytes.size();
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), static_cast<tmsize_t>(most));
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), &TakeError, &file);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), &TakeWarning, &file);
  return Tiff(TIFFClientOpenExt("image", "r", &file, &ReadFile, &WriteNothing, &SeekFile,
                                &CloseNothing, &SizeOfFile, &MapFile, &UnmapNothing,
                                options.get()));
}

uint32_t Number32(TIFF* tiff, uint32_t tag) {
  uint32_t value = 0;
  return TIFFGetField(tiff, tag, &value) == 1 ? value : 0;
}

uint16_t Number16(TIFF* tiff, uint32_t tag) {
  uint16_t value = 0;
  return TIFFGetFieldDefaulted(tiff, tag, &value) == 1 ? value : 0;
}

// A tag that occurs twice, or whose number has an unusual type, may be read in two ways.
bool Agrees(TIFF* tiff, const TiffLayout& layout) {
  const bool planar =
      layout.samples > 1 && Number16(tiff, TIFFTAG_PLANARCONFIG) == PLANARCONFIG_SEPARATE;
  return Number32(tiff, TIFFTAG_IMAGEWIDTH) == layout.width &&
         Number32(tiff, TIFFTAG_IMAGELENGTH) == layout.height &&
         Number16(tiff, TIFFTAG_BITSPERSAMPLE) == layout.bits &&
         Number16(tiff, TIFFTAG_SAMPLESPERPIXEL) == layout.samples &&
         Number16(tiff, TIFFTAG_COMPRESSION) == layout.compression &&
         Number16(tiff, TIFFTAG_PHOTOMETRIC) == layout.photometric && planar == layout.planar;
}

class Codec {
 public:
  Codec(TIFF* tiff, const MemoryFile& file, const TiffLayout& layout, const TakeTiffBlock& take)
      : tiff_(tiff), file_(file), layout_(layout), take_(take) {}

  Fault Run() {
    if (!Agrees(tiff_, layout_)) return Fault::kUnsupported;
    const bool jpeg_of_ycc =
        layout_.photometric == PHOTOMETRIC_YCBCR && layout_.color == TiffColor::kRgb;
    if (jpeg_of_ycc) TIFFSetField(tiff_, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    if (layout_.color != TiffColor::kYcc) return ReadAll();
    const Fault fault = MayLeaveGaps() ? ReadAll() : Fault::kNone;
    return fault == Fault::kNone ? ReadRgba() : fault;
  }

  Fault Failed() const { return file_.out_of_memory ? Fault::kTooManyPixels : Fault::kCorrupt; }

 private:
  Fault ReadAll() { return TIFFIsTiled(tiff_) != 0 ? ReadTiles() : ReadStrips(); }
  Fault ReadStrips();
  Fault ReadTiles();
  bool ReadPiece(uint32_t number, const TiffBlock& block);
  bool IsAsBefore(const TiffBlock& block) const;
  bool MayLeaveGaps() const;
  Fault ReadRgba();
  Fault Reserve(tmsize_t size, tmsize_t row, uint32_t width, uint32_t rows);
  bool IsWhole(uint32_t number) const;
  uint32_t RowsPerBlock() const;
  void TakePiece(const TiffBlock& block) const {
    if (layout_.color != TiffColor::kYcc) take_(block);
  }
  uint32_t planes() const { return layout_.planar ? layout_.samples : 1; }

  TIFF* const tiff_;
  const MemoryFile& file_;
  const TiffLayout& layout_;
  const TakeTiffBlock& take_;
  std::vector<std::byte> buffer_, again_;  // a strip or tile, and its second reading
};

// Allocates a strip or tile of `size` bytes with the given row size, width and number of rows.
Fault Codec::Reserve(tmsize_t size, tmsize_t row, uint32_t width, uint32_t rows) {
  const bool subsampled = layout_.color == TiffColor::kYcc;
  const uint64_t together = subsampled ? 0 : layout_.planar ? 1 : layout_.samples;
  const uint64_t wanted = (together * layout_.bits * width + 7) / 8;
  if (size <= 0 || row <= 0 || static_cast<uint64_t>(row) < wanted) return Failed();
  if (static_cast<uint64_t>(size) > MostMemory(layout_)) return Fault::kTooManyPixels;
  if (static_cast<uint64_t>(size) / static_cast<uint64_t>(row) < rows && !subsampled)
    return Fault::kCorrupt;
  buffer_.resize(static_cast<size_t>(size));
  again_.resize(MayLeaveGaps() ? buffer_.size() : 0);
  return Fault::kNone;
}

// Whether the codec may end early, or have more data than fits, without reporting it.
bool Codec::MayLeaveGaps() const {
  switch (layout_.compression) {
    case COMPRESSION_CCITTRLE:
    case COMPRESSION_CCITTFAX3:
    case COMPRESSION_CCITTFAX4:
    case COMPRESSION_ADOBE_DEFLATE:
    case COMPRESSION_DEFLATE:
      return true;
    default:
      return false;
  }
}

// Reads the pixels of a strip or tile that lie within the image. False if they are damaged, or if
// the result depends on previous memory contents.
bool Codec::ReadPiece(uint32_t number, const TiffBlock& block) {
  const auto read = [&](std::vector<std::byte>& into, std::byte before) {
    std::fill(into.begin(), into.end(), before);
    const auto size = static_cast<tmsize_t>(into.size());
    return (TIFFIsTiled(tiff_) != 0 ? TIFFReadEncodedTile(tiff_, number, into.data(), size)
                                    : TIFFReadEncodedStrip(tiff_, number, into.data(), size)) != -1;
  };
  if (!read(buffer_, std::byte{0})) return false;
  return again_.empty() || (read(again_, std::byte{0xFF}) && IsAsBefore(block));
}

// Ignores the bits after a row's last pixel.
bool Codec::IsAsBefore(const TiffBlock& block) const {
  if (layout_.color == TiffColor::kYcc) {
    const tmsize_t there =
        TIFFIsTiled(tiff_) != 0 ? TIFFTileSize(tiff_) : TIFFVStripSize(tiff_, block.height);
    const size_t bytes =
        std::min(static_cast<size_t>(std::max<tmsize_t>(there, 0)), buffer_.size());
    return std::memcmp(buffer_.data(), again_.data(), bytes) == 0;
  }
  const uint64_t together = layout_.planar ? 1 : layout_.samples;
  const uint64_t bits = together * layout_.bits * block.width;
  const auto last = static_cast<std::byte>(0xFF00 >> bits % 8);
  for (size_t at = 0; at < block.stride * block.height; at += block.stride) {
    if (std::memcmp(&buffer_[at], &again_[at], bits / 8) != 0) return false;
    if (bits % 8 != 0 && ((buffer_[at + bits / 8] ^ again_[at + bits / 8]) & last) != std::byte{0})
      return false;
  }
  return true;
}

// Whether the file contains all stored bytes of the strip or tile.
bool Codec::IsWhole(uint32_t number) const {
  const uint64_t at = TIFFGetStrileOffset(tiff_, number);
  const uint64_t bytes = TIFFGetStrileByteCount(tiff_, number);
  return at <= file_.bytes.size() && bytes <= file_.bytes.size() - at;
}

uint32_t Codec::RowsPerBlock() const {
  uint32_t rows = 0;
  const uint32_t tag = TIFFIsTiled(tiff_) != 0 ? TIFFTAG_TILELENGTH : TIFFTAG_ROWSPERSTRIP;
  if (TIFFGetFieldDefaulted(tiff_, tag, &rows) != 1) return layout_.height;
  return rows == std::numeric_limits<uint32_t>::max() ? layout_.height : rows;
}

Fault Codec::ReadStrips() {
  const uint32_t most = std::min(RowsPerBlock(), layout_.height);
  if (most == 0) return Fault::kCorrupt;
  const tmsize_t size = TIFFStripSize(tiff_), row = TIFFScanlineSize(tiff_);
  if (const Fault fault = Reserve(size, row, layout_.width, most); fault != Fault::kNone)
    return fault;
  for (uint64_t at = 0; at < layout_.height; at += most) {
    const auto y = static_cast<uint32_t>(at);
    for (uint32_t plane = 0; plane < planes(); ++plane) {
      const uint32_t number = TIFFComputeStrip(tiff_, y, static_cast<uint16_t>(plane));
      if (!IsWhole(number)) return Fault::kTruncated;
      const TiffBlock block = {.x = 0,
                               .y = y,
                               .width = layout_.width,
                               .height = std::min(most, layout_.height - y),
                               .plane = plane,
                               .rows = buffer_.data(),
                               .stride = static_cast<size_t>(row)};
      if (!ReadPiece(number, block)) return Failed();
      TakePiece(block);
    }
  }
  return Fault::kNone;
}

Fault Codec::ReadTiles() {
  const uint32_t across = Number32(tiff_, TIFFTAG_TILEWIDTH);
  const uint32_t down = Number32(tiff_, TIFFTAG_TILELENGTH);
  if (across == 0 || down == 0) return Fault::kCorrupt;
  const tmsize_t size = TIFFTileSize(tiff_), row = TIFFTileRowSize(tiff_);
  if (const Fault fault = Reserve(size, row, across, down); fault != Fault::kNone) return fault;
  for (uint64_t y = 0; y < layout_.height; y += down) {
    for (uint32_t plane = 0; plane < planes(); ++plane) {
      for (uint64_t x = 0; x < layout_.width; x += across) {
        TiffBlock block = {.x = static_cast<uint32_t>(x), .y = static_cast<uint32_t>(y)};
        const uint32_t number =
            TIFFComputeTile(tiff_, block.x, block.y, 0, static_cast<uint16_t>(plane));
        if (!IsWhole(number)) return Fault::kTruncated;
        block.width = std::min(across, layout_.width - block.x);
        block.height = std::min(down, layout_.height - block.y);
        block.plane = plane;
        block.rows = buffer_.data();
        block.stride = static_cast<size_t>(row);
        if (!ReadPiece(number, block)) return Failed();
        TakePiece(block);
      }
    }
  }
  return Fault::kNone;
}

// Uses libtiff's own conversion to RGB, one strip or row of tiles at a time like Pillow, because
// the result for subsampled chroma depends on it.
Fault Codec::ReadRgba() {
  char message[1024] = "";
  TIFFRGBAImage image;
  if (TIFFRGBAImageOK(tiff_, message) == 0 || TIFFRGBAImageBegin(&image, tiff_, 0, message) == 0)
    return Failed();
  const std::unique_ptr<TIFFRGBAImage, void (*)(TIFFRGBAImage*)> ended(&image, &TIFFRGBAImageEnd);
  image.req_orientation = ORIENTATION_TOPLEFT;
  image.col_offset = 0;
  const uint32_t most = std::min(RowsPerBlock(), layout_.height);
  if (most == 0 || image.width != layout_.width || image.height != layout_.height)
    return Fault::kCorrupt;
  const size_t stride = size_t{4} * layout_.width;
  std::vector<uint32_t> raster(size_t{layout_.width} * most);
  buffer_.resize(stride);
  for (uint64_t y = 0; y < layout_.height; y += most) {
    const uint32_t rows = std::min(most, layout_.height - static_cast<uint32_t>(y));
    image.row_offset = static_cast<int>(y);
    if (TIFFRGBAImageGet(&image, raster.data(), layout_.width, rows) == 0) return Failed();
    for (uint32_t i = 0; i < rows; ++i) {
      const uint32_t* from = raster.data() + size_t{layout_.width} * i;
      for (uint32_t x = 0; x < layout_.width; ++x) {
        std::byte* pixel = buffer_.data() + size_t{4} * x;
        pixel[0] = static_cast<std::byte>(TIFFGetR(from[x]));
        pixel[1] = static_cast<std::byte>(TIFFGetG(from[x]));
        pixel[2] = static_cast<std::byte>(TIFFGetB(from[x]));
        pixel[3] = std::byte{255};
      }
      take_({.x = 0,
             .y = static_cast<uint32_t>(y) + i,
             .width = layout_.width,
             .height = 1,
             .plane = 0,
             .rows = buffer_.data(),
             .stride = stride});
    }
  }
  return Fault::kNone;
}

}  // namespace

Fault DecodeTiff(std::span<const std::byte> file, const TiffLayout& layout,
                 const TakeTiffBlock& take) {
  MemoryFile memory = {.bytes = file};
  const Tiff tiff = Open(memory, layout);
  if (tiff == nullptr) return memory.out_of_memory ? Fault::kTooManyPixels : Fault::kCorrupt;
  memory.failed = false;  // errors about tags that it skips don't count
  Codec codec(tiff.get(), memory, layout, take);
  const Fault fault = codec.Run();
  if (fault != Fault::kNone || !memory.failed) return fault;
  return codec.Failed();  // some codecs report an error and leave the rest uninitialised
}

}  // namespace penstock::decode
