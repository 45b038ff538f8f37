#include <algorithm>

#include "common/base/hash.h"
#include "server/store/cache/cache_folder.h"

namespace penstock::store {
namespace {

// Expected pieces that nobody reads any more are forgotten, if there are so many.
constexpr size_t kMostExpected = 1 << 20;
// An index is written anew once most of its records stand for nothing.
constexpr uint64_t kFewRecords = 8192;

}  // namespace

Mirror::Mirror(CacheFolder& folder, std::string name, const ObjectId& id, uint64_t object_bytes)
    : folder_(folder),
      id_(id),
      object_bytes_(object_bytes),
      files_(folder.folder_, std::move(name)) {}

// Nobody else knows this yet.
absl::Status Mirror::Load() {
  const base::MutexLock writing(writing_);
  return files_.Load(id_, object_bytes_, [&](const KeptPiece& piece) {
    if (piece.bytes == 0)
      kept_.erase(piece.offset);
    else
      kept_[piece.offset] = {.bytes = piece.bytes, .checksum = piece.checksum, .is_whole = true};
  });
}

bool Mirror::Has(uint64_t offset, uint64_t bytes) const {
  const base::MutexLock lock(folder_.mutex_);
  const auto kept = kept_.find(offset);
  return kept != kept_.end() && kept->second.is_whole && kept->second.bytes == bytes;
}

bool Mirror::Expect(uint64_t offset, uint64_t bytes, const PieceUses& uses) {
  const base::MutexLock lock(folder_.mutex_);
  folder_.NoteTime(uses);
  if (uses.next != kUnknownUse) {
    if (expected_.size() >= kMostExpected) expected_.clear();
    expected_[offset] = uses.next;
  }
  const auto kept = kept_.find(offset);
  if (kept == kept_.end() || !kept->second.is_whole || kept->second.bytes != bytes) return false;
  if (uses.next != kUnknownUse) kept->second.next_use = kUnknownUse;  // until it was read
  return true;
}

void Mirror::NoteUse(uint64_t offset, UseTime next_use) {
  const base::MutexLock lock(folder_.mutex_);
  if (!expected_.contains(offset)) folder_.SetUse(*this, offset, next_use);
}

bool Mirror::Read(uint64_t offset, std::span<std::byte> into) {
  KeptPiece piece = {.offset = offset, .bytes = into.size()};
  {
    const base::MutexLock lock(folder_.mutex_);
    const auto found = kept_.find(offset);
    if (found == kept_.end() || !found->second.is_whole || found->second.bytes != into.size())
      return false;
    piece.checksum = found->second.checksum;
  }
  const bool is_intact = files_.Read(piece, into);
  {
    const base::MutexLock lock(folder_.mutex_);
    if (is_intact) {
      folder_.SetUse(*this, offset, folder_.TakeExpected(*this, offset));
      ++folder_.counts_.found;
      return true;
    }
    // It may have made room meanwhile.
    const auto still = kept_.find(offset);
    if (still == kept_.end() || !still->second.is_whole || still->second.checksum != piece.checksum)
      return false;
    folder_.Erase(*this, offset);
    ++folder_.counts_.damaged;
  }
  Free(offset, into.size());
  return false;
}

void Mirror::Keep(uint64_t offset, std::span<const std::byte> bytes) {
  const KeptPiece piece = {.offset = offset, .bytes = bytes.size(), .checksum = base::Hash(bytes)};
  const std::optional<CacheFolder::Victims> victims = folder_.Reserve(*this, piece);
  if (!victims) return;
  for (const CacheFolder::Victim& victim : *victims)
    victim.mirror->Free(victim.offset, victim.bytes);
  const bool written = Write(piece, bytes);
  const base::MutexLock lock(folder_.mutex_);
  ++(written ? folder_.counts_.kept : folder_.counts_.no_room);
}

bool Mirror::Write(const KeptPiece& piece, std::span<const std::byte> bytes) {
  {
    const base::MutexLock writing(writing_);
    const bool written = files_.Write(piece, bytes);
    const base::MutexLock lock(folder_.mutex_);
    if (written) {
      kept_[piece.offset].is_whole = true;
      folder_.SetUse(*this, piece.offset, folder_.TakeExpected(*this, piece.offset));
      return true;
    }
    folder_.Erase(*this, piece.offset);
  }
  Free(piece.offset, piece.bytes);  // what was written of it
  return false;
}

// The neighbours that count are those that are there now: a piece that is being written is in
// `kept_`, and its bytes are written under the same mutex.
void Mirror::Free(uint64_t offset, uint64_t bytes) {
  const base::MutexLock writing(writing_);
  FileSpan own;
  {
    const base::MutexLock lock(folder_.mutex_);
    const auto after = kept_.lower_bound(offset);
    if (after != kept_.end() && after->first == offset) return;  // it is there again
    const auto before = after == kept_.begin() ? kept_.end() : std::prev(after);
    own = OwnBlocks({.begin = offset, .end = offset + bytes},
                    before == kept_.end() ? 0 : before->first + before->second.bytes,
                    after == kept_.end() ? UINT64_MAX : after->first);
  }
  const bool is_free = files_.Punch(own);
  files_.NoteGone(offset);
  if (!is_free) {
    const base::MutexLock lock(folder_.mutex_);
    folder_.counts_.bytes += own.bytes();
  }
  CompactIfWorthwhile();
}

void Mirror::CompactIfWorthwhile() {
  std::vector<KeptPiece> pieces;
  {
    const base::MutexLock lock(folder_.mutex_);
    if (files_.records() < 2 * kept_.size() + kFewRecords) return;
    pieces.reserve(kept_.size());
    for (const auto& [offset, kept] : kept_)
      if (kept.is_whole)
        pieces.push_back({.offset = offset, .bytes = kept.bytes, .checksum = kept.checksum});
  }
  files_.Compact(id_, object_bytes_, pieces);
}

}  // namespace penstock::store
