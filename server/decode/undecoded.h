// Rows that their consumer decodes on its GPU: a place then holds the file instead of pixels. Which
// rows these are is a pure function of the sample and its file, never of timing, so that a feed's
// bytes stay reproducible. common/shm/row_note.h describes places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "common/shm/row_note.h"
#include "server/decode/core/spec.h"

namespace penstock::decode {

// Larger images are decoded here: the consumer's memory for decoded pixels is limited.
inline constexpr uint64_t kMostEnginePixels = uint64_t{1} << 24;

// What to note of this file if the consumer is to decode it; nullopt: it is decoded here. The
// note's `bytes` are those to be put into the place, from the file's beginning.
// **Requires**: the file's header was read, and the image is not turned.
std::optional<shm::RowNote> MakeNote(std::span<const std::byte> file, const Spec& spec,
                                     const DrawKey& key);

}  // namespace penstock::decode
