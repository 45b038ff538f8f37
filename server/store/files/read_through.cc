#include "server/store/files/read_through.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock::store {
namespace {

constexpr uint64_t kLeastAtOnce = 256 << 10;  // a request costs as much as some bytes

}  // namespace

ReadThrough::ReadThrough(Pieces& pieces, Shared& shared,
                         std::shared_ptr<const FetchedObject> object, uint64_t object_bytes,
                         Keep keep, const Options& options)
    : pieces_(pieces),
      shared_(shared),
      object_(std::move(object)),
      object_bytes_(object_bytes),
      keep_(std::move(keep)),
      options_(options),
      ahead_(options.first_ahead) {
  ++shared_.passes;
}

ReadThrough::~ReadThrough() {
  for (const source::RemotePiece& range : asked_) pieces_.Drop(object_, range.offset);
  --shared_.passes;
}

uint64_t ReadThrough::most_ahead() const {
  return std::min(options_.most_ahead, shared_.most_ahead / shared_.passes.load());
}

absl::Status ReadThrough::Read(uint64_t offset, std::span<std::byte> into) const {
  if (into.empty()) return absl::OkStatus();
  if (offset > object_bytes_ || into.size() > object_bytes_ - offset)
    return absl::DataLossError(
        absl::StrCat("the object ends at byte ", object_bytes_, ", before what is to be read"));
  if (HasPassed(offset)) return object_->FetchPatiently(offset, into);
  AskAhead(offset, offset + into.size());
  at_ = offset;
  while (!held_.empty() && held_.front().end() <= offset) held_.pop_front();
  while (!into.empty()) {
    const PassBlock* block = nullptr;
    for (const PassBlock& held : held_)
      if (held.offset <= offset && offset < held.end()) block = &held;
    if (block == nullptr) {
      const bool is_asked = !asked_.empty() && asked_.front().offset <= offset;
      if (!is_asked) return object_->FetchPatiently(offset, into);  // it lies in a gap
      PENSTOCK_RETURN_IF_ERROR(TakeNext());
      continue;
    }
    const size_t from = offset - block->offset;
    const size_t now = std::min(into.size(), block->data.size() - from);
    std::memcpy(into.data(), block->data.data() + from, now);
    into = into.subspan(now);
    offset += now;
  }
  return absl::OkStatus();
}

// Whether the place lies before all that is held or comes.
bool ReadThrough::HasPassed(uint64_t offset) const {
  if (!held_.empty()) return offset < held_.front().offset;
  return !asked_.empty() ? offset < asked_.front().offset : offset < at_;
}

void ReadThrough::AskAhead(uint64_t offset, uint64_t end) const {
  if (offset > asked_to_) {
    const uint64_t gap = offset - asked_to_, passed = asked_to_ - std::min(asked_to_, at_);
    // What was fetched of a piece would be lost: so if less of it is left, that is fetched, too.
    const uint64_t longest = keep_ ? std::max(options_.largest_kept, passed) : options_.longest_gap;
    if (gap > longest)
      BeginAt(offset);
    else if (!keep_)
      asked_to_ = offset;
  }
  if (asked_to_ >= end && asked_to_ - end > ahead_ / 2) return;
  if (!asked_.empty() || !held_.empty()) ahead_ = std::min(most_ahead(), 2 * ahead_);
  const uint64_t until = std::min(object_bytes_, end + ahead_);
  while (asked_to_ < until) {
    const uint64_t at_once = std::min(options_.most_at_once, std::max(ahead_ / 8, kLeastAtOnce));
    const uint64_t bytes = std::min(at_once, until - asked_to_);
    pieces_.Expect(object_, asked_to_, bytes);
    asked_.push_back({.offset = asked_to_, .bytes = bytes});
    asked_to_ += bytes;
  }
}

void ReadThrough::BeginAt(uint64_t offset) const {
  for (const source::RemotePiece& range : asked_) pieces_.Drop(object_, range.offset);
  asked_.clear();
  held_.clear();
  noted_.clear();
  asked_to_ = offset;
  ahead_ = options_.first_ahead;
}

// Takes the first range that was asked for. **Requires**: there is one.
absl::Status ReadThrough::TakeNext() const {
  const source::RemotePiece range = asked_.front();
  asked_.pop_front();
  if (!keep_ && range.offset + range.bytes <= at_) {  // nobody needs it any more
    pieces_.Drop(object_, range.offset);
    return absl::OkStatus();
  }
  PassBlock block = {.offset = range.offset, .data = std::vector<std::byte>(range.bytes)};
  absl::Status read = pieces_.Read(object_, range.offset, 0, block.data);
  if (absl::IsUnavailable(read)) read = object_->FetchPatiently(range.offset, block.data);
  PENSTOCK_RETURN_IF_ERROR(read);
  Collect(block);
  while (!held_.empty() && held_.front().end() <= at_) held_.pop_front();
  held_.push_back(std::move(block));
  return absl::OkStatus();
}

void ReadThrough::Note(const source::RemotePiece& piece) {
  if (!keep_ || piece.bytes > options_.largest_kept || HasPassed(piece.offset)) return;
  if (!noted_.empty() && piece.offset < noted_.back().end()) return;  // not behind the others
  noted_.push_back({.piece = piece, .data = {}});
  for (const PassBlock& block : held_) Collect(block);
}

// Adds what the block has of the noted pieces, which lack what follows all earlier blocks.
void ReadThrough::Collect(const PassBlock& block) const {
  for (Partial& partial : noted_) {
    const source::RemotePiece& piece = partial.piece;
    const uint64_t next = piece.offset + partial.data.size();
    if (next < block.offset || next >= block.end()) break;
    const auto rest = std::span(block.data).subspan(next - block.offset);
    const auto part = rest.first(std::min(rest.size(), partial.end() - next));
    if (part.size() == piece.bytes) {
      keep_(piece.offset, part);
      partial.is_kept = true;
      continue;
    }
    partial.data.insert(partial.data.end(), part.begin(), part.end());
    partial.is_kept = partial.data.size() == piece.bytes;
    if (partial.is_kept) keep_(piece.offset, partial.data);
  }
  while (!noted_.empty() && noted_.front().is_kept) noted_.pop_front();
}

}  // namespace penstock::store
