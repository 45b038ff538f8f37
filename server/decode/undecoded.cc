#include "server/decode/undecoded.h"

#include "server/decode/core/place.h"
#include "server/decode/core/placement.h"
#include "server/decode/jpeg/engine_walk.h"

namespace penstock::decode {
namespace {

shm::RowAxis ToRowAxis(const Axis& axis) {
  return {.in = axis.in, .out = axis.out, .first = axis.first, .count = axis.count};
}

}  // namespace

std::optional<shm::RowNote> MakeNote(std::span<const std::byte> file, const Spec& spec,
                                     const DrawKey& key) {
  if (!IsAmongShare(spec.undecoded, key.sample)) return std::nullopt;
  const std::optional<EngineWalk> walk = WalkForEngines(file);
  if (!walk || jpeg::JudgeForEngines(walk->facts) != jpeg::EngineVerdict::kTaken)
    return std::nullopt;
  const uint32_t width = walk->facts.width, height = walk->facts.height;
  if (uint64_t{width} * height > kMostEnginePixels) return std::nullopt;
  if (walk->bytes > RoomOf(spec.undecoded)) return std::nullopt;
  const Placement placement = Place(spec, DrawFor(spec, key, width, height));
  return shm::RowNote{.holds = shm::RowHolds::kJpeg,
                      .bytes = static_cast<uint32_t>(walk->bytes),
                      .width = width,
                      .height = height,
                      .left = placement.crop.x,
                      .top = placement.crop.y,
                      .x = ToRowAxis(placement.x),
                      .y = ToRowAxis(placement.y),
                      .flip = placement.flip ? 1u : 0u,
                      .interpolation = static_cast<uint32_t>(placement.interpolation)};
}

}  // namespace penstock::decode
