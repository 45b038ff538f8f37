// Places of rows that their consumer may decode (../undecoded.h, common/shm/row_note.h): which rows
// may hold their files, and what a place holds behind its row or file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/shm/row_note.h"
#include "server/decode/core/spec.h"

namespace penstock::decode {

// Whether the sample is among the share. Half of all samples are among a share of one half, and
// they are among every larger share, too; none is among a share of 0.
bool IsAmongShare(const Undecoded& undecoded, uint64_t sample);

// Bytes that a place has for a row or a file.
inline uint32_t RoomOf(const Undecoded& undecoded) {
  return undecoded.place_bytes - static_cast<uint32_t>(sizeof(shm::RowNote));
}

// How much of the place may hold something, from its beginning on: what is behind that, up to the
// note, is zeros. `bytes` are to be written now; BeginPlace notes them if they are more than that,
// so that this also holds after a worker that dies before EndPlace.
uint32_t BeginPlace(const Undecoded& undecoded, uint32_t bytes, std::span<std::byte> place);

// Writes the note at the end of the place, and zeros between the row or file and what BeginPlace
// returned.
void EndPlace(const shm::RowNote& note, uint32_t held, std::span<std::byte> place);

}  // namespace penstock::decode
