#include "server/status/gzip.h"

#include <zlib.h>

#include "common/base/check.h"

namespace penstock::status {
namespace {

constexpr int kGzipFormat = 15 + 16;  // the largest window, with gzip's header
constexpr int kMemoryLevel = 8;

}  // namespace

std::string Gzip(absl::string_view text) {
  z_stream stream = {};
  PENSTOCK_CHECK(::deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipFormat, kMemoryLevel,
                                Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(::deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // not modified
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  PENSTOCK_CHECK(::deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

}  // namespace penstock::status
