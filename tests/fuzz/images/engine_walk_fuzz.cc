// Arbitrary bytes as a JPEG file for the GPU's engines. What our walks let through must be what
// libjpeg finds in its header, and must have one scan that ends where a simple search ends.
#include <cstdint>
#include <span>

#include "common/base/check.h"
#include "common/jpeg/header_walk.h"
#include "server/decode/jpeg/engine_walk.h"
#include "server/decode/jpeg/jpeg_reader.h"

namespace {

namespace decode = penstock::decode;
namespace jpeg = penstock::jpeg;

constexpr size_t kPrefixBytes = 8;  // seeds.py writes them, for other programs
constexpr uint64_t kMaxScans = 30;

void CheckSize(std::span<const std::byte> file, const jpeg::HeaderWalk& header) {
  static decode::JpegReader reader(kMaxScans);
  PENSTOCK_CHECK(header.bytes <= file.size());
  if (jpeg::JudgeForEngines(header.facts) != jpeg::EngineVerdict::kTaken) return;
  PENSTOCK_CHECK(reader.ReadHeader(file) == penstock::base::Fault::kNone);
  PENSTOCK_CHECK(reader.width() == header.facts.width && reader.height() == header.facts.height);
}

// Of a scan without restart markers.
size_t FindEnd(std::span<const uint8_t> file, size_t at) {
  while (at + 1 < file.size() && (file[at] != 0xFF || file[at + 1] == 0)) ++at;
  return at + 2;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < kPrefixBytes) return 0;
  const std::span bytes = std::span(data, size).subspan(kPrefixBytes);
  const auto file = std::as_bytes(bytes);
  const std::optional<jpeg::HeaderWalk> header = jpeg::WalkHeader(file);
  const std::optional<decode::EngineWalk> walk = decode::WalkForEngines(file);
  if (header) CheckSize(file, *header);
  if (!walk) return 0;
  PENSTOCK_CHECK(header.has_value());
  PENSTOCK_CHECK(walk->bytes <= file.size());
  if (header->restart_interval == 0) PENSTOCK_CHECK(walk->bytes == FindEnd(bytes, header->bytes));
  return 0;
}
