#include "server/pool/spares.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/base/check.h"
#include "common/base/units.h"
#include "common/posix/memory.h"

namespace penstock::pool {
namespace {

absl::Status Touch(const posix::Fd& memory, uint64_t bytes) {
  int failed;
  do {
    failed = ::fallocate(memory.get(), 0, 0, static_cast<off_t>(bytes));
  } while (failed != 0 && errno == EINTR);
  if (failed == 0) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "pool.preallocate: allocating ", base::FormatBytes(bytes), ": the system refused (",
      errno == ENOSPC || errno == ENOMEM ? "out of memory" : absl::StrCat("errno ", errno),
      "); lower it"));
}

void GiveBackTail(const posix::Fd& memory, uint64_t from, uint64_t bytes) {
  if (bytes == 0) return;
  const int done = ::fallocate(memory.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                               static_cast<off_t>(from), static_cast<off_t>(bytes));
  // EINTR: the tail stays allocated but is not counted
  PENSTOCK_CHECK(done == 0 || errno == EINTR);
}

}  // namespace

absl::Status Spares::Make(uint64_t bytes, uint64_t piece_bytes) {
  PENSTOCK_CHECK(piece_bytes > 0);
  for (uint64_t left = bytes; left > 0;) {
    SparePiece piece{.memory = {}, .bytes = std::min(left, piece_bytes)};
    PENSTOCK_ASSIGN_OR_RETURN(piece.memory, posix::MakeMemory("penstock-segment", piece.bytes));
    PENSTOCK_RETURN_IF_ERROR(Touch(piece.memory, piece.bytes));
    left -= piece.bytes;
    bytes_ += piece.bytes;
    pieces_.push_back(std::move(piece));
  }
  return absl::OkStatus();
}

std::optional<Spares::SparePiece> Spares::Take(uint64_t slot_bytes) {
  const auto holds = [&](const SparePiece& piece) { return piece.bytes >= slot_bytes; };
  const auto found = std::find_if(pieces_.begin(), pieces_.end(), holds);
  if (found == pieces_.end()) return std::nullopt;
  SparePiece piece = std::move(*found);
  pieces_.erase(found);
  bytes_ -= piece.bytes;
  const uint64_t used = piece.bytes / slot_bytes * slot_bytes;
  GiveBackTail(piece.memory, used, piece.bytes - used);
  piece.bytes = used;
  return piece;
}

Spares::SparePiece Spares::Drop() {
  PENSTOCK_CHECK(!pieces_.empty());
  SparePiece piece = std::move(pieces_.back());
  pieces_.pop_back();
  bytes_ -= piece.bytes;
  return piece;
}

}  // namespace penstock::pool
