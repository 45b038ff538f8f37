#include "server/store/client/transfers.h"

#include <pthread.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "common/base/check.h"

namespace penstock::store {
namespace {

constexpr base::Duration kLongestWait = std::chrono::seconds(1);
constexpr base::Duration kPostedAfter = std::chrono::milliseconds(1);
constexpr size_t kMostIdleHandles = 256;

TransferAnswer Ended(absl::Status status) {
  TransferAnswer answer;
  answer.status = std::move(status);
  return answer;
}

TransferAnswer Ending() { return Ended(absl::CancelledError("the daemon is ending")); }

}  // namespace

struct Transfers::Transfer {
  Transfer(TransferRequest asked, Done when_done)
      : request(std::move(asked)), done(std::move(when_done)) {}
  const TransferRequest request;
  Done done;  // null: it was called
  const base::TimePoint begun = base::Now();
  std::unique_ptr<Attempt> first, second;  // null: has ended, or has not begun
  bool is_hedged() const { return !request.parts.empty(); }
};

Transfers::Transfers(const Curl& curl, const Options& options)
    : curl_(curl), options_(options), loop_(curl), hedging_(options.hedging) {
  for (const CURLMoption option : {CURLMOPT_MAX_HOST_CONNECTIONS, CURLMOPT_MAXCONNECTS})
    curl_.multi_setopt(loop_.multi(), option, static_cast<long>(options_.most_connections));
  thread_ = std::thread([this] { Serve(); });
}

Transfers::~Transfers() {
  Stop();
  thread_.join();
  for (CURL* const handle : idle_) curl_.easy_cleanup(handle);
}

void Transfers::Stop() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
  }
  loop_.Wake();
}

void Transfers::Start(TransferRequest request, Done done) {
  PENSTOCK_CHECK(!request.range || request.range->bytes > 0);
  PENSTOCK_CHECK(request.parts.empty() || request.range);
  bool is_first = false;
  {
    const base::MutexLock lock(mutex_);
    if (!stopping_) {
      is_first = given_.empty();
      given_.push_back(
          std::make_shared<Transfer>(std::move(request), std::exchange(done, nullptr)));
      ++counts_.under_way;
    }
  }
  if (done) return done(Ending());
  if (is_first) loop_.Wake();  // the thread takes all that are there
}

TransferAnswer Transfers::Perform(TransferRequest request) {
  struct {
    base::Mutex mutex;
    base::CondVar ended;
    std::optional<TransferAnswer> answer;
  } waiting;
  Start(std::move(request), [&waiting](TransferAnswer answer) {
    const base::MutexLock lock(waiting.mutex);
    waiting.answer = std::move(answer);
    waiting.ended.NotifyAll();
  });
  const base::MutexLock lock(waiting.mutex);
  while (!waiting.answer) waiting.ended.Wait(waiting.mutex);
  return *std::move(waiting.answer);
}

void Transfers::Post(std::function<void()> task) {
  {
    const base::MutexLock lock(mutex_);
    if (!stopping_) {
      if (posted_.empty()) posted_due_ = base::Now() + kPostedAfter;
      posted_.push_back(std::exchange(task, nullptr));
    }
  }
  task ? task() : loop_.Wake();
}

TransferCounts Transfers::counts() const {
  const base::MutexLock lock(mutex_);
  return counts_;
}

// ---- The thread ----

void Transfers::Serve() {
  ::pthread_setname_np(::pthread_self(), "transfers");
  for (;;) {
    std::vector<Ptr> given;
    bool is_stopping = false;
    {
      const base::MutexLock lock(mutex_);
      given.swap(given_);
      is_stopping = stopping_;
    }
    if (is_stopping) {
      for (const Ptr& transfer : given) End(*transfer, Ending());
      RunPosted();  // what they start ends at once
      return EndAll();
    }
    for (const Ptr& transfer : given) Begin(transfer);
    CollectEnded();
    HedgeLateOnes();
    base::Duration wait = RunPosted();
    if (!late_.empty()) wait = std::min(wait, late_.begin()->first - base::Now());
    loop_.Run(std::max(wait, base::Duration::zero()));
    CollectEnded();
  }
}

// Calls the tasks whose time has come. Returns how long to wait for others.
base::Duration Transfers::RunPosted() {
  std::vector<std::function<void()>> due;
  {
    const base::MutexLock lock(mutex_);
    if (posted_.empty()) return kLongestWait;
    const base::Duration left = posted_due_ - base::Now();
    if (left > base::Duration::zero() && !stopping_) return left;
    due.swap(posted_);
  }
  for (const std::function<void()>& task : due) task();
  return base::Duration::zero();  // they may have started transfers
}

void Transfers::Begin(const Ptr& transfer) {
  if (!AddAttempt(transfer))
    return End(*transfer, Ended(absl::ResourceExhaustedError("no memory for another transfer")));
  if (!transfer->is_hedged()) return;
  if (const auto usual = hedging_.Begin(transfer->request.range->bytes))
    late_.emplace(transfer->begun + *usual, transfer);
}

bool Transfers::AddAttempt(const Ptr& transfer) {
  CURL* const handle = TakeHandle(transfer->request);
  if (handle == nullptr) return false;
  auto attempt = std::make_unique<Attempt>(curl_, handle, transfer->request);
  if (curl_.multi_add_handle(loop_.multi(), handle) != CURLM_OK) {
    attempt.reset();
    curl_.easy_cleanup(handle);
    return false;
  }
  running_[handle] = transfer;
  (transfer->first == nullptr ? transfer->first : transfer->second) = std::move(attempt);
  const base::MutexLock lock(mutex_);
  ++counts_.requests;
  return true;
}

CURL* Transfers::TakeHandle(const TransferRequest& request) {
  if (!idle_.empty() && Attempt::IsUsual(request)) {
    CURL* const handle = idle_.back();
    idle_.pop_back();
    return handle;
  }
  CURL* const handle = curl_.easy_init();
  if (handle != nullptr)
    Attempt::SetUp(curl_, handle,
                   {.ca_file = options_.ca_file,
                    .ca_folder = options_.ca_folder,
                    .proxy = options_.proxy,
                    .connect_timeout = options_.connect_timeout,
                    .stall_timeout = options_.stall_timeout});
  return handle;
}

// A usual request's handle may be used again. If its answer was not complete, its connection is
// closed.
void Transfers::EndAttempt(Attempt& attempt) {
  CURL* const handle = attempt.handle();
  curl_.multi_remove_handle(loop_.multi(), handle);
  running_.erase(handle);
  if (Attempt::IsUsual(attempt.request()) && idle_.size() < kMostIdleHandles)
    idle_.push_back(handle);
  else
    curl_.easy_cleanup(handle);
}

void Transfers::CollectEnded() {
  int left = 0;
  while (const CURLMsg* const message = curl_.multi_info_read(loop_.multi(), &left))
    if (message->msg == CURLMSG_DONE) CollectEnded(message->easy_handle, message->data.result);
}

void Transfers::CollectEnded(CURL* handle, CURLcode code) {
  const auto found = running_.find(handle);
  if (found == running_.end()) return;  // the other answer was complete first
  const Ptr transfer = found->second;
  const bool is_second = transfer->second != nullptr && transfer->second->handle() == handle;
  std::unique_ptr<Attempt>& mine = is_second ? transfer->second : transfer->first;
  std::unique_ptr<Attempt>& other = is_second ? transfer->first : transfer->second;
  TransferAnswer answer = mine->End(code);
  EndAttempt(*mine);
  mine.reset();
  if (!answer.ok() && other != nullptr) return;  // that one may succeed
  if (is_second && answer.ok()) {
    const base::MutexLock lock(mutex_);
    ++counts_.hedges_first;
  }
  End(*transfer, std::move(answer));
}

// From here on, nothing writes to the request's memory.
void Transfers::End(Transfer& transfer, TransferAnswer answer) {
  for (std::unique_ptr<Attempt>* const attempt : {&transfer.first, &transfer.second})
    if (*attempt != nullptr) {
      EndAttempt(**attempt);
      attempt->reset();
    }
  if (transfer.is_hedged()) {
    const base::Duration took = base::Now() - transfer.begun;
    if (answer.ok()) hedging_.End(transfer.request.range->bytes, took);
    const base::MutexLock lock(mutex_);
    if (answer.ok()) counts_.times.Add(took);
  }
  {
    const base::MutexLock lock(mutex_);
    counts_.bytes += answer.bytes;
    --counts_.under_way;
  }
  std::exchange(transfer.done, nullptr)(std::move(answer));
}

void Transfers::HedgeLateOnes() {
  const base::TimePoint now = base::Now();
  while (!late_.empty() && late_.begin()->first <= now) {
    const Ptr transfer = late_.begin()->second;
    late_.erase(late_.begin());
    // It may have ended, or its first attempt has failed and the second is under way.
    const bool is_waited_for = transfer->done && transfer->first != nullptr;
    if (!is_waited_for || !hedging_.Spend() || !AddAttempt(transfer)) continue;
    const base::MutexLock lock(mutex_);
    ++counts_.hedges;
  }
}

void Transfers::EndAll() {
  late_.clear();
  while (!running_.empty()) {
    const Ptr transfer = running_.begin()->second;
    End(*transfer, Ending());
  }
}

}  // namespace penstock::store
