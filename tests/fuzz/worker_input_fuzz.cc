// A worker's request and its input: eight bytes for the request, then the recipe and the samples.
// The worker never writes outside the segment, and writes nothing to it if it refuses the input. A
// recipe that is accepted survives a round trip.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "common/base/check.h"
#include "server/workers/program/request_server.h"

using namespace penstock;

namespace {

constexpr size_t kPromise = 8;
constexpr size_t kSegmentBytes = 4096;

// Bytes 0 and 1 are the recipe's size, byte 2 says whether there is an image, and bytes 4 and 5 are
// its row's offset.
workers::DecodeRequest RequestOf(std::span<const std::byte> promise) {
  workers::DecodeRequest request{};
  uint16_t recipe_bytes = 0, row = 0;
  std::memcpy(&recipe_bytes, promise.data(), sizeof recipe_bytes);
  std::memcpy(&row, promise.data() + 4, sizeof row);
  request.sequence = 1;
  request.recipe_bytes = recipe_bytes;
  request.spec.height = request.spec.width = 8;
  request.row_offset = row;
  if (promise[2] != std::byte{0}) request.row_bytes = decode::RowBytes(request.spec);
  return request;
}

void CheckRecipe(std::span<const std::byte> bytes) {
  const auto recipe = unpack::ReadRecipe(bytes);
  if (!recipe.ok()) return;
  std::vector<std::byte> written(unpack::BytesOf(*recipe));
  unpack::Write(*recipe, written);
  PENSTOCK_CHECK(std::ranges::equal(written, bytes));
  PENSTOCK_CHECK(unpack::ReadRecipe(written).value() == *recipe);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < kPromise) return 0;
  const auto bytes = std::as_bytes(std::span(data, size));
  const workers::DecodeRequest request = RequestOf(bytes.first(kPromise));
  // A copy, so that a sanitizer sees where the input ends.
  std::vector<std::byte> input(bytes.begin() + kPromise, bytes.end());
  std::vector<uint64_t> memory(kSegmentBytes / sizeof(uint64_t), UINT64_MAX);
  CheckRecipe(std::span(input).first(std::min<size_t>(request.recipe_bytes, input.size())));

  static workers::RequestServer server{decode::SampleLimits{.max_bytes = 1 << 16}};
  const auto served = server.Serve(request, input, std::as_writable_bytes(std::span(memory)));

  if (served.ok()) {
    PENSTOCK_CHECK(base::IsWorkers(served->fault));
  } else {
    PENSTOCK_CHECK(std::ranges::all_of(memory, [](uint64_t word) { return word == UINT64_MAX; }));
  }
  return 0;
}
