#include "server/store/files/pieces.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <system_error>

#include "common/base/check.h"

namespace penstock::store {

struct Pieces::Fetched {
  const std::shared_ptr<const FetchedObject> object;
  const uint64_t offset, bytes;
  const base::TimePoint expected;
  std::unique_ptr<std::byte[]> data = {};  // written by the thread that fetches, before `ended`
  bool is_retried = false, ended = false;
  bool is_dropped = false;   // nobody will read it
  absl::Status status = {};  // once it has ended
  uint64_t read = 0;         // bytes that were given out
  uint32_t readers = 0;      // that wait for it or copy from it
};

Pieces::~Pieces() {
  std::vector<std::thread> threads;
  {
    const base::MutexLock lock(mutex_);
    PENSTOCK_CHECK(std::all_of(known_.begin(), known_.end(),
                               [](const auto& each) { return each.second->readers == 0; }));
    stopping_ = true;
    queue_.clear();
    to_retry_.NotifyAll();
    while (under_way_ > 0) ended_.Wait(mutex_);
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
}

void Pieces::Expect(const std::shared_ptr<const FetchedObject>& object, uint64_t offset,
                    uint64_t bytes) {
  std::vector<Ptr> next;
  {
    const base::MutexLock lock(mutex_);
    if (stopping_ || bytes == 0 || known_.contains({object.get(), offset})) return;
    MakeRoom(bytes);
    if (bytes > options_.most_bytes - counts_.bytes) {
      ++counts_.no_room;
      return;
    }
    const auto piece = std::make_shared<Fetched>(
        Fetched{.object = object, .offset = offset, .bytes = bytes, .expected = base::Now()});
    known_.emplace(Key(object.get(), offset), piece);
    queue_.push_back(piece);
    oldest_.push_back(piece);
    counts_.bytes += bytes;
    ++counts_.expected;
    next = TakeNext();
  }
  Begin(next);
}

// Those that may begin now.
std::vector<Pieces::Ptr> Pieces::TakeNext() {
  std::vector<Ptr> next;
  while (!stopping_ && !queue_.empty() && under_way_ < options_.most_at_once) {
    next.push_back(std::move(queue_.front()));
    queue_.pop_front();
    ++under_way_;
  }
  return next;
}

void Pieces::Begin(const std::vector<Ptr>& pieces) {
  for (const Ptr& piece : pieces) {
    piece->data.reset(new (std::nothrow) std::byte[piece->bytes]);
    if (piece->data == nullptr) {
      End(piece, absl::ResourceExhaustedError("no memory for a piece of an object"));
      continue;
    }
    const auto* const object = piece->object.get();
    object->Start(piece->offset, {piece->data.get(), piece->bytes},
                  [this, piece](const absl::Status& status) { End(piece, status); });
  }
}

void Pieces::End(const Ptr& piece, const absl::Status& status) {
  std::vector<Ptr> next;
  {
    const base::MutexLock lock(mutex_);
    // Then requests end at once, within Start, and there may be many.
    if (absl::IsCancelled(status) || absl::IsResourceExhausted(status)) {
      for (const Ptr& queued : queue_) Forget(*queued);
      queue_.clear();
    }
    if (absl::IsUnavailable(status) && !piece->is_retried && !stopping_ && Retry(piece)) return;
    piece->status = status;
    piece->ended = true;
    if ((!status.ok() || piece->is_dropped) && piece->readers == 0) Forget(*piece);
    --under_way_;
    next = TakeNext();
    ended_.NotifyAll();
  }
  Begin(next);
}

// Waiting between attempts takes a thread. The piece stays among those under way. False: there is
// no thread.
bool Pieces::Retry(const Ptr& piece) {
  if (retries_.size() >= idle_ && threads_.size() < options_.most_retried) {
    try {
      threads_.emplace_back([this] { ServeRetries(); });
    } catch (const std::system_error&) {
      if (threads_.empty()) return false;
    }
  }
  piece->is_retried = true;
  retries_.push_back(piece);
  to_retry_.NotifyOne();
  return true;
}

void Pieces::ServeRetries() {
  ::pthread_setname_np(::pthread_self(), "fetch");
  for (;;) {
    Ptr piece;
    bool is_ending = false;
    {
      const base::MutexLock lock(mutex_);
      ++idle_;
      while (retries_.empty() && !stopping_) to_retry_.Wait(mutex_);
      --idle_;
      if (retries_.empty()) return;
      piece = std::move(retries_.front());
      retries_.pop_front();
      is_ending = stopping_;
    }
    End(piece, is_ending ? absl::CancelledError("the store has been stopped")
                         : piece->object->Fetch(piece->offset, {piece->data.get(), piece->bytes}));
  }
}

absl::Status Pieces::Read(const std::shared_ptr<const FetchedObject>& object, uint64_t offset,
                          uint64_t from, std::span<std::byte> into) {
  std::shared_ptr<Fetched> piece;
  {
    const base::MutexLock lock(mutex_);
    const auto known = known_.find({object.get(), offset});
    const bool fits = known != known_.end() && from <= known->second->bytes &&
                      into.size() <= known->second->bytes - from;
    if (fits) piece = known->second;
    if (piece != nullptr) {
      // What is waited for goes first; without a thread, the reader fetches it.
      const auto waiting = std::find(queue_.begin(), queue_.end(), piece);
      if (waiting != queue_.end()) {
        queue_.erase(waiting);
        Forget(*piece);
        piece = nullptr;
      }
    }
    if (piece != nullptr) {
      ++piece->readers;
      ++counts_.found;
      while (!piece->ended) ended_.Wait(mutex_);
    }
  }
  if (piece == nullptr) return object->Fetch(offset + from, into);
  if (piece->status.ok()) std::memcpy(into.data(), piece->data.get() + from, into.size());
  const base::MutexLock lock(mutex_);
  --piece->readers;
  piece->read += into.size();
  if (!piece->status.ok() || piece->read >= piece->bytes) Forget(*piece);
  return piece->status;
}

void Pieces::Drop(const std::shared_ptr<const FetchedObject>& object, uint64_t offset) {
  const base::MutexLock lock(mutex_);
  const auto known = known_.find({object.get(), offset});
  if (known == known_.end()) return;
  const Ptr piece = known->second;
  piece->is_dropped = true;  // its memory is written to until the request has ended
  const auto waiting = std::find(queue_.begin(), queue_.end(), piece);
  if (waiting != queue_.end())
    queue_.erase(waiting);
  else if (!piece->ended || piece->readers > 0)
    return;
  Forget(*piece);
}

Pieces::Counts Pieces::counts() const {
  const base::MutexLock lock(mutex_);
  return counts_;
}

// Those that still read it keep it alive.
void Pieces::Forget(const Fetched& piece) {
  const auto known = known_.find({piece.object.get(), piece.offset});
  if (known == known_.end() || known->second.get() != &piece) return;
  counts_.bytes -= piece.bytes;
  known_.erase(known);
}

// Lets go of pieces that were expected long ago and that nobody reads: their feed may be over.
void Pieces::MakeRoom(uint64_t bytes) {
  while (bytes > options_.most_bytes - counts_.bytes && ForgetOldest(options_.unread_for)) continue;
}

void Pieces::LetGo(base::Duration older_than) {
  const base::MutexLock lock(mutex_);
  while (ForgetOldest(older_than)) continue;
}

// False: what was expected first was not expected so long ago, or is not over.
bool Pieces::ForgetOldest(base::Duration older_than) {
  while (!oldest_.empty()) {
    const Ptr piece = oldest_.front().lock();
    const bool is_known = piece != nullptr && known_.contains({piece->object.get(), piece->offset});
    const bool may_go = is_known && piece->ended && piece->readers == 0 &&
                        base::Now() - piece->expected >= older_than;
    if (is_known && !may_go) return false;
    oldest_.pop_front();
    if (!is_known) continue;
    Forget(*piece);
    return true;
  }
  return false;
}

}  // namespace penstock::store
