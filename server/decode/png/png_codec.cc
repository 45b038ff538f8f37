#include "server/decode/png/png_codec.h"

#include <png.h>

#include <csetjmp>
#include <cstdlib>

#include "server/decode/png/png_header.h"

namespace penstock::decode {
namespace {

using base::Fault;

// State for libpng's callbacks. It has no destructors, because errors longjmp.
struct Run {
  PngSink* sink;
  std::jmp_buf jump;
  bool out_of_memory;
  bool at_end;  // the end chunk has been read
};

[[noreturn]] void Fail(png_structp png, png_const_charp) {
  std::longjmp(static_cast<Run*>(png_get_error_ptr(png))->jump, 1);
}

void DropWarning(png_structp, png_const_charp) {}

png_voidp Allocate(png_structp png, png_alloc_size_t bytes) {
  void* memory = std::malloc(bytes);
  if (memory == nullptr) static_cast<Run*>(png_get_mem_ptr(png))->out_of_memory = true;
  return memory;
}

void Free(png_structp, png_voidp memory) { std::free(memory); }

int IgnoreChunk(png_structp, png_unknown_chunkp) { return 1; }

// All chunks before the image data have been read. Their CRCs were checked, as Pillow does.
void TakeInfo(png_structp png, png_infop info) {
  Run* run = static_cast<Run*>(png_get_progressive_ptr(png));
  png_set_crc_action(png, PNG_CRC_QUIET_USE, PNG_CRC_QUIET_USE);
  png_colorp entries = nullptr;
  int count = 0;
  if (png_get_PLTE(png, info, &entries, &count) != 0) {
    static_assert(sizeof(png_color) == 3);
    run->sink->TakePalette(reinterpret_cast<const uint8_t*>(entries), static_cast<uint32_t>(count));
  }
  png_set_packing(png);
  png_start_read_image(png);
}

void TakeRow(png_structp png, png_bytep samples, png_uint_32 row, int pass) {
  static_cast<Run*>(png_get_progressive_ptr(png))->sink->TakeRow(samples, pass, row);
}

void TakeEnd(png_structp png, png_infop) {
  static_cast<Run*>(png_get_progressive_ptr(png))->at_end = true;
}

void Configure(png_structp png, Run& run) {
  png_set_user_limits(png, kMostPngSide, kMostPngSide);
  png_set_crc_action(png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
  // Skips text, profiles and the like; a negative count means all of them.
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_set_read_user_chunk_fn(png, nullptr, &IgnoreChunk);
  png_set_progressive_read_fn(png, &run, &TakeInfo, &TakeRow, &TakeEnd);
}

// Runs libpng's progressive reader on the whole file; false on an error. Unlike libpng's other
// modes, this one delivers each row as soon as its last byte is there.
bool Process(std::span<const std::byte> file, Run& run, png_structp* png, png_infop* info) {
  if (setjmp(run.jump) != 0) return false;
  *png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &run, &Fail, &DropWarning, &run, &Allocate,
                                  &Free);
  if (*png == nullptr) return false;
  *info = png_create_info_struct(*png);
  if (*info == nullptr) return false;
  Configure(*png, run);
  // Libpng only reads it.
  auto* bytes = reinterpret_cast<png_bytep>(const_cast<std::byte*>(file.data()));
  png_process_data(*png, *info, bytes, file.size());
  return true;
}

}  // namespace

Fault DecodePng(std::span<const std::byte> file, PngSink& sink) {
  Run run{.sink = &sink, .jump = {}, .out_of_memory = false, .at_end = false};
  png_structp png = nullptr;
  png_infop info = nullptr;
  const bool done = Process(file, run, &png, &info);
  png_destroy_read_struct(&png, &info, nullptr);
  if (sink.complete()) return Fault::kNone;
  if (run.out_of_memory) return Fault::kTooManyPixels;
  return done && !run.at_end ? Fault::kTruncated : Fault::kCorrupt;
}

}  // namespace penstock::decode
