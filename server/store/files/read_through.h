// A pass through an object from its beginning to its end, with gaps: what an indexer needs of a
// shard. Large ranges are fetched ahead, several at a time, so that the pass waits for the store's
// bandwidth instead of its latency.
//
// How far ahead: little at first, and twice as much whenever the reader has come half as far, up to
// `most_ahead`. Gaps of up to `longest_gap` are read through. Behind a longer one, the pass begins
// anew with little. Pieces that pass by as a whole are given to `keep`.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "server/source/files/remote_file.h"
#include "server/store/files/pieces.h"

namespace penstock::store {

class ReadThrough final : public source::RemotePass {
 public:
  struct Options {
    uint64_t first_ahead = 32 << 10;
    uint64_t most_ahead = 16 << 20;
    uint64_t most_at_once = 2 << 20;  // bytes of one request; an eighth of `most_ahead` if less
    uint64_t longest_gap = 2 << 20;   // that is read through, if nothing is kept
    uint64_t largest_kept = 4 << 20;  // piece; and the longest gap if something is kept
  };
  // Passes that are under way at the same time share this memory.
  struct Shared {
    uint64_t most_ahead = 256 << 20;  // of all together
    std::atomic<uint32_t> passes = 0;
  };
  using Keep = std::function<void(uint64_t offset, std::span<const std::byte> piece)>;

  // `keep`: empty if nothing is kept. **Requires**: `pieces`, `shared` and what `keep` refers to
  // outlive this.
  ReadThrough(Pieces& pieces, Shared& shared, std::shared_ptr<const FetchedObject> object,
              uint64_t object_bytes, Keep keep, const Options& options);
  // Lets go of what was fetched and not read.
  ~ReadThrough() override;

  absl::Status Read(uint64_t offset, std::span<std::byte> into) const override;
  void Note(const source::RemotePiece& piece) override;

 private:
  struct PassBlock {
    uint64_t offset = 0;
    std::vector<std::byte> data;
    uint64_t end() const { return offset + data.size(); }
  };
  // A piece that lies in several blocks.
  struct Partial {
    source::RemotePiece piece;
    std::vector<std::byte> data;  // the first of its bytes
    bool is_kept = false;
    uint64_t end() const { return piece.offset + piece.bytes; }
  };

  // Const, because reading is; a pass has one reader.
  void AskAhead(uint64_t offset, uint64_t end) const;
  void BeginAt(uint64_t offset) const;
  absl::Status TakeNext() const;
  void Collect(const PassBlock& block) const;
  bool HasPassed(uint64_t offset) const;
  uint64_t most_ahead() const;

  Pieces& pieces_;
  Shared& shared_;
  const std::shared_ptr<const FetchedObject> object_;
  const uint64_t object_bytes_;
  const Keep keep_;
  const Options options_;
  mutable uint64_t at_ = 0;                        // where the reader read last
  mutable uint64_t ahead_ = 0;                     // how far ahead is asked
  mutable std::deque<PassBlock> held_;             // one behind the other
  mutable std::deque<source::RemotePiece> asked_;  // that follow these
  mutable std::deque<Partial> noted_;              // pieces that have not passed by as a whole
  mutable uint64_t asked_to_ = 0;                  // the end of all
};

}  // namespace penstock::store
