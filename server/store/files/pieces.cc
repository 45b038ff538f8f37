#include "server/store/files/pieces.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>
#include <system_error>

#include "common/base/check.h"
#include "server/store/client/slow_down.h"

namespace penstock::store {

struct Pieces::Fetched {
  const std::shared_ptr<const FetchedObject> object;
  const uint64_t offset, bytes;
  const base::TimePoint expected;
  std::unique_ptr<std::byte[]> data = {};  // written by requests, before `ended`
  uint64_t asked = 0;                      // of its bytes, for which a request has begun
  uint32_t requests = 0;                   // under way for it
  bool ended = false;                      // all of it was fetched, or that failed
  bool is_dropped = false;                 // nobody will read it
  absl::Status status = {};
  uint64_t read = 0;     // bytes that were given out
  uint32_t readers = 0;  // that wait for it or copy from it

  uint64_t end() const { return offset + bytes; }
  bool is_waiting() const { return asked == 0 && !is_dropped; }
};

// One range of an object, and the pieces, or the part of one, that it fills.
struct Pieces::PieceRequest {
  std::shared_ptr<const FetchedObject> object;
  std::vector<Ptr> pieces;
  std::vector<ObjectPart> parts;
  bool has_memory = true, is_retried = false;

  uint64_t bytes() const { return parts.back().end() - parts.front().offset; }
};

void FetchedObject::StartParts(const std::vector<ObjectPart>& parts, Done done) const {
  PENSTOCK_CHECK(parts.size() == 1);  // those who are joinable have their own
  Start(parts[0].offset, parts[0].into, std::move(done));
}

Pieces::Pieces(const Options& options)
    : options_(options),
      window_(
          {.first = std::min(uint32_t{64}, options.most_at_once), .most = options.most_at_once}) {}

Pieces::~Pieces() {
  std::vector<std::thread> threads;
  {
    const base::MutexLock lock(mutex_);
    PENSTOCK_CHECK(std::all_of(known_.begin(), known_.end(),
                               [](const auto& each) { return each.second->readers == 0; }));
    stopping_ = true;
    queue_.clear();
    to_retry_.NotifyAll();
    while (under_way_ > 0 || will_begin_) ended_.Wait(mutex_);
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
}

void Pieces::Expect(const std::shared_ptr<const FetchedObject>& object, uint64_t offset,
                    uint64_t bytes) {
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
    ++counts_.waiting;
    ++counts_.expected;
    if (std::exchange(will_begin_, true)) return;
  }
  const auto begin = [this] {
    std::vector<RequestPtr> next;
    {
      const base::MutexLock lock(mutex_);
      next = TakeNext();
      will_begin_ = false;
      ended_.NotifyAll();
    }
    Begin(next);
  };
  options_.soon ? options_.soon(begin) : begin();
}

// ---- Requests ----

// Those that may begin now.
std::vector<Pieces::RequestPtr> Pieces::TakeNext() {
  std::vector<RequestPtr> next;
  while (!stopping_ && !queue_.empty() && under_way_ < window_.size()) {
    const Ptr piece = queue_.front();
    const bool goes_on = piece->asked > 0 && piece->asked < piece->bytes;  // its other parts
    if (!piece->is_waiting() && !goes_on) {
      queue_.pop_front();
      continue;
    }
    next.push_back(TakePart(piece));
    if (piece->asked == piece->bytes) queue_.pop_front();
    ++under_way_;
  }
  return next;
}

// The next request for a piece: for all of it and its neighbours, or for a part.
Pieces::RequestPtr Pieces::TakePart(const Ptr& piece) {
  const auto request = std::make_shared<PieceRequest>(
      PieceRequest{.object = piece->object, .pieces = {piece}, .parts = {}});
  if (piece->data == nullptr) {
    piece->data.reset(new (std::nothrow) std::byte[piece->bytes]);
    --counts_.waiting;
  }
  const bool is_cut = piece->object->is_joinable() && piece->bytes > options_.part_bytes;
  const uint64_t bytes =
      is_cut ? std::min(options_.part_bytes, piece->bytes - piece->asked) : piece->bytes;
  request->has_memory = piece->data != nullptr;
  request->parts = {
      {.offset = piece->offset + piece->asked,
       .into = {request->has_memory ? piece->data.get() + piece->asked : nullptr, bytes}}};
  piece->asked = request->has_memory ? piece->asked + bytes : piece->bytes;
  ++piece->requests;
  if (is_cut)
    ++counts_.parts;
  else if (piece->object->is_joinable() && request->has_memory)
    Join(*request);
  return request;
}

// Adds the neighbours that wait, as far as they are close.
void Pieces::Join(PieceRequest& request) {
  auto next = known_.upper_bound({request.object.get(), request.parts.front().offset});
  for (; next != known_.end() && next->first.first == request.object.get(); ++next) {
    const Ptr& piece = next->second;
    const uint64_t end = request.parts.back().end();
    if (piece->offset < end || piece->offset - end > options_.most_between ||
        piece->end() - request.parts.front().offset > options_.most_joined || !piece->is_waiting())
      return;
    piece->data.reset(new (std::nothrow) std::byte[piece->bytes]);
    if (piece->data == nullptr) return;
    --counts_.waiting;
    piece->asked = piece->bytes;
    ++piece->requests;
    ++counts_.joined;
    request.pieces.push_back(piece);
    request.parts.push_back({.offset = piece->offset, .into = {piece->data.get(), piece->bytes}});
  }
}

void Pieces::Begin(const std::vector<RequestPtr>& requests) {
  for (const RequestPtr& request : requests) {
    if (!request->has_memory) {
      End(request, absl::ResourceExhaustedError("no memory for a piece of an object"));
      continue;
    }
    request->object->StartParts(
        request->parts, [this, request](const absl::Status& status) { End(request, status); });
  }
}

void Pieces::End(const RequestPtr& request, const absl::Status& status) {
  std::vector<RequestPtr> next;
  {
    const base::MutexLock lock(mutex_);
    // Then requests end at once, within Start, and there may be many.
    if (absl::IsCancelled(status) || absl::IsResourceExhausted(status)) {
      for (const Ptr& queued : queue_) GiveUp(*queued, status);
      queue_.clear();
    }
    window_.End({.bytes = status.ok() ? request->bytes() : 0,
                 .was_full = !queue_.empty(),
                 .asks_to_slow = AsksToSlowDown(status)},
                base::Now());
    if (absl::IsUnavailable(status) && !request->is_retried && !stopping_ && Retry(request)) return;
    for (const Ptr& piece : request->pieces) EndPiece(*piece, status);
    --under_way_;
    next = TakeNext();
    ended_.NotifyAll();
  }
  Begin(next);
}

// No further request is sent for a piece in the queue.
void Pieces::GiveUp(Fetched& piece, const absl::Status& why) {
  if (piece.asked == piece.bytes) return;
  if (piece.is_waiting()) Forget(piece);
  piece.asked = piece.bytes;
  if (piece.status.ok()) piece.status = why;
  piece.ended = piece.requests == 0;
}

// A request for the piece, or for a part of it, has ended.
void Pieces::EndPiece(Fetched& piece, const absl::Status& status) {
  if (piece.status.ok()) piece.status = status;
  --piece.requests;
  if (!piece.status.ok()) piece.asked = piece.bytes;  // no further part is of use
  piece.ended = piece.requests == 0 && piece.asked == piece.bytes;
  if (piece.ended && (!piece.status.ok() || piece.is_dropped) && piece.readers == 0) Forget(piece);
}

// Waiting between attempts takes a thread. The request stays among those under way. False: there is
// no thread.
bool Pieces::Retry(const RequestPtr& request) {
  if (retries_.size() >= idle_ && threads_.size() < options_.most_retried) {
    try {
      threads_.emplace_back([this] { ServeRetries(); });
    } catch (const std::system_error&) {
      if (threads_.empty()) return false;
    }
  }
  request->is_retried = true;
  retries_.push_back(request);
  to_retry_.NotifyOne();
  return true;
}

void Pieces::ServeRetries() {
  ::pthread_setname_np(::pthread_self(), "fetch");
  for (;;) {
    RequestPtr request;
    bool is_ending = false;
    {
      const base::MutexLock lock(mutex_);
      ++idle_;
      while (retries_.empty() && !stopping_) to_retry_.Wait(mutex_);
      --idle_;
      if (retries_.empty()) return;
      request = std::move(retries_.front());
      retries_.pop_front();
      is_ending = stopping_;
    }
    End(request,
        is_ending ? absl::CancelledError("the store has been stopped") : FetchAgain(*request));
  }
}

absl::Status Pieces::FetchAgain(const PieceRequest& request) const {
  for (const ObjectPart& part : request.parts)
    PENSTOCK_RETURN_IF_ERROR(request.object->Fetch(part.offset, part.into));
  return absl::OkStatus();
}

// ---- Reading ----

absl::Status Pieces::Read(const std::shared_ptr<const FetchedObject>& object, uint64_t offset,
                          uint64_t from, std::span<std::byte> into) {
  Ptr piece;
  {
    const base::MutexLock lock(mutex_);
    piece = FindPiece(*object, offset, from, into.size());
    if (piece != nullptr) {
      ++piece->readers;
      ++counts_.found;
      while (!piece->ended) ended_.Wait(mutex_);
    }
  }
  if (piece == nullptr) return FetchNow(object, offset + from, into);
  if (piece->status.ok()) std::memcpy(into.data(), piece->data.get() + from, into.size());
  const base::MutexLock lock(mutex_);
  --piece->readers;
  piece->read += into.size();
  if (!piece->status.ok() || piece->read >= piece->bytes) Forget(*piece);
  return piece->status;
}

// The piece, if it has begun. One that has not is forgotten: what is waited for goes first.
Pieces::Ptr Pieces::FindPiece(const FetchedObject& object, uint64_t offset, uint64_t from,
                              uint64_t bytes) {
  const auto known = known_.find({&object, offset});
  if (known == known_.end()) return nullptr;
  const Ptr piece = known->second;
  if (from > piece->bytes || bytes > piece->bytes - from) return nullptr;
  if (!piece->is_waiting()) return piece;
  if (piece->bytes > options_.part_bytes) {  // several requests are better than the reader's one
    queue_.push_front(piece);
    return piece;
  }
  piece->is_dropped = true;
  Forget(*piece);
  return nullptr;
}

// A reader that comes too early fetches by itself, large ranges by several requests.
absl::Status Pieces::FetchNow(const std::shared_ptr<const FetchedObject>& object, uint64_t offset,
                              std::span<std::byte> into) {
  if (into.size() <= options_.part_bytes || !object->is_joinable())
    return object->Fetch(offset, into);
  Expect(object, offset, into.size());
  bool is_expected = false;  // else there is no room for it
  {
    const base::MutexLock lock(mutex_);
    const auto known = known_.find({object.get(), offset});
    is_expected = known != known_.end() && known->second->bytes == into.size();
  }
  return is_expected ? Read(object, offset, 0, into) : object->Fetch(offset, into);
}

void Pieces::Drop(const std::shared_ptr<const FetchedObject>& object, uint64_t offset) {
  const base::MutexLock lock(mutex_);
  const auto known = known_.find({object.get(), offset});
  if (known == known_.end()) return;
  const Ptr piece = known->second;
  const bool was_waiting = piece->is_waiting();
  piece->is_dropped = true;
  // Its memory is written to until its requests have ended.
  if (was_waiting || (piece->ended && piece->readers == 0)) Forget(*piece);
}

Pieces::Counts Pieces::counts() const {
  const base::MutexLock lock(mutex_);
  Counts counts = counts_;
  counts.under_way = under_way_;
  counts.window = window_.size();
  counts.halvings = window_.halvings();
  return counts;
}

// Those that still read it keep it alive.
void Pieces::Forget(const Fetched& piece) {
  const auto known = known_.find({piece.object.get(), piece.offset});
  if (known == known_.end() || known->second.get() != &piece) return;
  counts_.bytes -= piece.bytes;
  if (piece.data == nullptr && piece.asked == 0) --counts_.waiting;
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
