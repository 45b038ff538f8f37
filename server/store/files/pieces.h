// Pieces of objects in memory: those that will be read soon are fetched ahead, many at a time.
// Small neighbours come by one request, large pieces by several.
// **Thread safety**: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "server/store/client/object_part.h"
#include "server/store/files/request_window.h"

namespace penstock::store {

// One version of an object. **Thread safety**: any thread.
class FetchedObject {
 public:
  virtual ~FetchedObject() = default;
  // Fills `into` from the offset of that version, and no other. Waits for the network, and tries
  // again what may succeed, some times.
  virtual absl::Status Fetch(uint64_t offset, std::span<std::byte> into) const = 0;
  // Begins the same, tried once, and returns. `done` is called once, on any thread, this one
  // included. Unavailable: Fetch may succeed. Cancelled: the store has been stopped. The object and
  // the memory stay until then.
  using Done = std::function<void(const absl::Status&)>;
  virtual void Start(uint64_t offset, std::span<std::byte> into, Done done) const = 0;
  // Whether one request may cover several pieces, or a part of one.
  virtual bool is_joinable() const { return false; }
  // Begins to fill several parts, each behind the one before, by one request, as Start.
  // **Requires**: one part, or is_joinable().
  virtual void StartParts(const std::vector<ObjectPart>& parts, Done done) const;
  // As Fetch, for those whom nobody asks again.
  virtual absl::Status FetchPatiently(uint64_t offset, std::span<std::byte> into) const {
    return Fetch(offset, into);
  }
};

class Pieces {
 public:
  struct Options {
    uint64_t most_bytes = uint64_t{512} << 20;  // of pieces that are held or being fetched
    uint32_t most_at_once = 512;                // requests under way, if so many pay
    uint32_t most_retried = 16;  // of these, requests that are repeated: a thread each
    // Pieces that nobody has read for so long make room for others.
    base::Duration unread_for = std::chrono::seconds(10);
    // Of objects whose pieces may be joined: bytes of one request for several pieces, and between
    // two of them; bytes of one request for a part of a larger piece.
    uint64_t most_joined = 512 << 10, most_between = 4 << 10, part_bytes = 8 << 20;
    // Calls a function soon, once: what was expected by then begins together. Empty: at once.
    std::function<void(std::function<void()>)> soon = {};
  };
  struct Counts {
    uint64_t expected = 0;  // pieces that were fetched ahead
    uint64_t found = 0;     // reads of such a piece
    uint64_t no_room = 0;   // pieces for which there was no room, so they are fetched when read
    uint64_t bytes = 0;     // held or being fetched
    uint64_t joined = 0;    // pieces that came with another one's request
    uint64_t parts = 0;     // requests for parts of large pieces
    uint64_t under_way = 0, waiting = 0;  // requests; pieces that wait for one
    uint64_t window = 0;                  // requests that may be under way
    uint64_t halvings = 0;                // of the window, because the store asked to slow down
  };

  explicit Pieces(const Options& options);
  // Waits for the requests under way. **Requires**: nobody reads any more.
  ~Pieces();
  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;

  // Fetches the piece soon, if there is room for it. Never waits.
  void Expect(const std::shared_ptr<const FetchedObject>& object, uint64_t offset, uint64_t bytes);

  // Fills `into` from the place `from` of the piece [offset, offset + bytes): from memory if the
  // piece is expected, else by a request for just that part. Once all of a piece was read, it is
  // no longer held. **Errors**: those of Fetch; the next read of the piece asks again.
  absl::Status Read(const std::shared_ptr<const FetchedObject>& object, uint64_t offset,
                    uint64_t from, std::span<std::byte> into);

  // Says that an expected piece will not be read after all.
  void Drop(const std::shared_ptr<const FetchedObject>& object, uint64_t offset);

  // Lets go of what was expected so long ago and is not read.
  void LetGo(base::Duration older_than);

  Counts counts() const;

 private:
  struct Fetched;
  struct PieceRequest;
  using Key = std::pair<const FetchedObject*, uint64_t>;  // with the offset

  using Ptr = std::shared_ptr<Fetched>;
  using RequestPtr = std::shared_ptr<PieceRequest>;
  void Begin(const std::vector<RequestPtr>& requests);
  std::vector<RequestPtr> TakeNext() PENSTOCK_REQUIRES(mutex_);
  RequestPtr TakePart(const Ptr& piece) PENSTOCK_REQUIRES(mutex_);
  void Join(PieceRequest& request) PENSTOCK_REQUIRES(mutex_);
  void End(const RequestPtr& request, const absl::Status& status);
  void GiveUp(Fetched& piece, const absl::Status& why) PENSTOCK_REQUIRES(mutex_);
  void EndPiece(Fetched& piece, const absl::Status& status) PENSTOCK_REQUIRES(mutex_);
  bool Retry(const RequestPtr& request) PENSTOCK_REQUIRES(mutex_);
  void ServeRetries();
  absl::Status FetchAgain(const PieceRequest& request) const;
  Ptr FindPiece(const FetchedObject& object, uint64_t offset, uint64_t from, uint64_t bytes)
      PENSTOCK_REQUIRES(mutex_);
  absl::Status FetchNow(const std::shared_ptr<const FetchedObject>& object, uint64_t offset,
                        std::span<std::byte> into);
  void Forget(const Fetched& piece) PENSTOCK_REQUIRES(mutex_);
  void MakeRoom(uint64_t bytes) PENSTOCK_REQUIRES(mutex_);
  bool ForgetOldest(base::Duration older_than) PENSTOCK_REQUIRES(mutex_);

  const Options options_;
  mutable base::Mutex mutex_;
  base::CondVar to_retry_, ended_;
  std::map<Key, Ptr> known_ PENSTOCK_GUARDED_BY(mutex_);
  // That wait for a request, and perhaps some that do no longer.
  std::deque<Ptr> queue_ PENSTOCK_GUARDED_BY(mutex_);
  std::deque<RequestPtr> retries_ PENSTOCK_GUARDED_BY(mutex_);  // that no thread has taken
  std::deque<std::weak_ptr<Fetched>> oldest_ PENSTOCK_GUARDED_BY(mutex_);  // as they were expected
  RequestWindow window_ PENSTOCK_GUARDED_BY(mutex_);
  bool will_begin_ PENSTOCK_GUARDED_BY(mutex_) = false;  // what is in the queue
  uint32_t under_way_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  std::vector<std::thread> threads_ PENSTOCK_GUARDED_BY(mutex_);  // for retries
  size_t idle_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  bool stopping_ PENSTOCK_GUARDED_BY(mutex_) = false;
  Counts counts_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::store
