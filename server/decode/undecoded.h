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

// Whether the sample is among the share. Half of all samples are among a share of one half, and
// they are among every larger share, too; none is among a share of 0.
bool IsAmongShare(const Undecoded& undecoded, uint64_t sample);

// What to note of this file if the consumer is to decode it; nullopt: it is decoded here. The
// note's `bytes` are those to be put into the place, from the file's beginning.
// **Requires**: the file's header was read, and the image is not turned.
std::optional<shm::RowNote> MakeNote(std::span<const std::byte> file, const Spec& spec,
                                     const DrawKey& key);

// How much of the place may hold something, from its beginning on: what is behind that, up to the
// note, is zeros. `bytes` are to be written now; BeginPlace notes them if they are more than that,
// so that this also holds after a worker that dies before EndPlace.
uint32_t BeginPlace(const Undecoded& undecoded, uint32_t bytes, std::span<std::byte> place);

// Writes the note at the end of the place, and zeros between the row or file and what BeginPlace
// returned.
void EndPlace(const shm::RowNote& note, uint32_t held, std::span<std::byte> place);

}  // namespace penstock::decode
