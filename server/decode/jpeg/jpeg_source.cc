#include "server/decode/jpeg/jpeg_source.h"

#include <cstring>

namespace penstock::decode {
namespace {

constexpr JOCTET kInventedEnd[] = {0xFF, JPEG_EOI};

}  // namespace

JpegSource::JpegSource() {
  hooks_.manager.init_source = &Nothing;
  hooks_.manager.fill_input_buffer = &Fill;
  hooks_.manager.skip_input_data = &Skip;
  hooks_.manager.resync_to_restart = jpeg_resync_to_restart;
  hooks_.manager.term_source = &Nothing;
  Reset({});
}

void JpegSource::Reset(std::span<const std::byte> file) {
  hooks_.manager.next_input_byte = reinterpret_cast<const JOCTET*>(file.data());
  hooks_.manager.bytes_in_buffer = file.size();
  hooks_.exhausted = false;
}

boolean JpegSource::Fill(j_decompress_ptr info) {
  Hooks* hooks = reinterpret_cast<Hooks*>(info->src);
  hooks->exhausted = true;
  hooks->manager.next_input_byte = kInventedEnd;
  hooks->manager.bytes_in_buffer = sizeof(kInventedEnd);
  return TRUE;
}

void JpegSource::Skip(j_decompress_ptr info, long bytes) {
  if (bytes <= 0) return;
  if (static_cast<size_t>(bytes) > info->src->bytes_in_buffer) {
    Fill(info);
    return;
  }
  info->src->next_input_byte += bytes;
  info->src->bytes_in_buffer -= static_cast<size_t>(bytes);
}

std::optional<std::span<const uint8_t>> JpegSource::CompleteScan() const {
  const JOCTET* const begin = hooks_.manager.next_input_byte;
  const JOCTET* const end = begin + hooks_.manager.bytes_in_buffer;
  const JOCTET* at = begin;
  while ((at = static_cast<const JOCTET*>(std::memchr(at, 0xFF, static_cast<size_t>(end - at))))) {
    const JOCTET* const marker = at;
    while (at != end && *at == 0xFF) ++at;  // a marker may be preceded by any number of fill bytes
    if (at == end) return std::nullopt;
    if (*at == JPEG_EOI) return std::span(begin, marker);
    const bool in_scan = *at == 0 || (*at >= JPEG_RST0 && *at <= JPEG_RST0 + 7);
    if (!in_scan) return std::nullopt;
    ++at;
  }
  return std::nullopt;
}

std::optional<std::span<const uint8_t>> JpegSource::ScanOf(uint64_t bytes) const {
  if (bytes > hooks_.manager.bytes_in_buffer) return std::nullopt;
  return std::span(hooks_.manager.next_input_byte, bytes);
}

}  // namespace penstock::decode
