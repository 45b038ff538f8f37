#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/hash.h"
#include "common/base/units.h"
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
  PENSTOCK_RETURN_IF_ERROR(LoadFiles());
  ForgetBeyond(files_.DataBytes().value_or(0));
  return absl::OkStatus();
}

// What is being written stays as it is. **Requires**, of these three: `writing_` is held.
absl::Status Mirror::LoadFiles() {
  absl::btree_map<uint64_t, Kept> there;
  PENSTOCK_RETURN_IF_ERROR(files_.Load(id_, object_bytes_, [&](const KeptPiece& piece) {
    if (piece.bytes == 0)
      there.erase(piece.offset);
    else
      there[piece.offset] = {.bytes = piece.bytes, .checksum = piece.checksum, .is_whole = true};
  }));
  const base::MutexLock lock(folder_.mutex_);
  kept_.insert(there.begin(), there.end());
  return absl::OkStatus();
}

// Somebody has removed or changed the files.
absl::Status Mirror::MendFiles() {
  PENSTOCK_RETURN_IF_ERROR(folder_.Revive());
  const std::optional<uint64_t> bytes = files_.DataBytes();
  if (bytes && files_.IsIndexMine()) return absl::OkStatus();
  ForgetBeyond(bytes.value_or(0));
  if (!files_.IsIndexMine()) Compact();
  return bytes && files_.IsIndexMine() ? absl::OkStatus() : LoadFiles();
}

// Pieces that cannot be there, because the data file ends before they do.
void Mirror::ForgetBeyond(uint64_t end) {
  std::vector<uint64_t> gone;
  {
    const base::MutexLock lock(folder_.mutex_);
    for (const auto& [offset, kept] : kept_)
      if (kept.is_whole && offset + kept.bytes > end) gone.push_back(offset);
    for (const uint64_t offset : gone) folder_.Erase(*this, offset);
    folder_.counts_.damaged += gone.size();
  }
  if (!gone.empty()) Compact();
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
  if (!ReadIntact(offset, into)) return false;
  const base::MutexLock lock(folder_.mutex_);
  folder_.SetUse(*this, offset, folder_.TakeExpected(*this, offset));
  ++folder_.counts_.found;
  return true;
}

bool Mirror::Check(uint64_t offset, std::span<std::byte> into) {
  {
    const base::MutexLock writing(writing_);
    if (!files_.IsIndexMine()) MendFiles().IgnoreError();  // then keeping says what is wrong
  }
  return ReadIntact(offset, into);
}

bool Mirror::ReadIntact(uint64_t offset, std::span<std::byte> into) {
  KeptPiece piece = {.offset = offset, .bytes = into.size()};
  {
    const base::MutexLock lock(folder_.mutex_);
    const auto found = kept_.find(offset);
    if (found == kept_.end() || !found->second.is_whole || found->second.bytes != into.size())
      return false;
    piece.checksum = found->second.checksum;
  }
  if (files_.Read(piece, into)) return true;
  {
    const base::MutexLock lock(folder_.mutex_);
    // It may have made room meanwhile.
    const auto still = kept_.find(offset);
    if (still == kept_.end() || !still->second.is_whole || still->second.checksum != piece.checksum)
      return false;
    folder_.Erase(*this, offset);
    ++folder_.counts_.damaged;
  }
  Free(offset, into.size());
  // Where the file was shortened or removed, what follows is gone, too.
  const base::MutexLock writing(writing_);
  ForgetBeyond(files_.DataBytes().value_or(0));
  return false;
}

absl::Status Mirror::TryKeep(uint64_t offset, std::span<const std::byte> bytes) {
  const KeptPiece piece = {.offset = offset, .bytes = bytes.size(), .checksum = base::Hash(bytes)};
  {
    const base::MutexLock lock(folder_.mutex_);
    if (kept_.contains(offset)) return absl::OkStatus();
  }
  const std::optional<CacheFolder::Victims> victims = folder_.Reserve(*this, piece);
  if (!victims)
    return absl::ResourceExhaustedError(absl::StrCat(
        "the cache holds the ", base::FormatBytes(folder_.most_bytes_), " that it may"));
  for (const CacheFolder::Victim& victim : *victims)
    victim.mirror->Free(victim.offset, victim.bytes);
  const absl::Status written = Write(piece, bytes);
  const base::MutexLock lock(folder_.mutex_);
  ++(written.ok() ? folder_.counts_.kept : folder_.counts_.no_room);
  return written;
}

absl::Status Mirror::Write(const KeptPiece& piece, std::span<const std::byte> bytes) {
  absl::Status written;
  {
    const base::MutexLock writing(writing_);
    written = files_.Write(piece, bytes);
    if (!written.ok() && !absl::IsResourceExhausted(written)) {
      written = MendFiles();
      if (written.ok()) written = files_.Write(piece, bytes);
    }
    const base::MutexLock lock(folder_.mutex_);
    if (written.ok()) {
      kept_[piece.offset].is_whole = true;
      folder_.SetUse(*this, piece.offset, folder_.TakeExpected(*this, piece.offset));
      return written;
    }
    folder_.Erase(*this, piece.offset);
  }
  Free(piece.offset, piece.bytes);  // what was written of it
  return base::Annotate(written, absl::StrCat("the cache folder '", folder_.path_, "'"));
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
  {
    const base::MutexLock lock(folder_.mutex_);
    if (files_.records() < 2 * kept_.size() + kFewRecords) return;
  }
  Compact();
}

// **Requires**: `writing_` is held.
void Mirror::Compact() {
  std::vector<KeptPiece> pieces;
  {
    const base::MutexLock lock(folder_.mutex_);
    pieces.reserve(kept_.size());
    for (const auto& [offset, kept] : kept_)
      if (kept.is_whole)
        pieces.push_back({.offset = offset, .bytes = kept.bytes, .checksum = kept.checksum});
  }
  files_.Compact(id_, object_bytes_, pieces);
}

}  // namespace penstock::store
