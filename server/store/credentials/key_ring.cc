#include "server/store/credentials/key_ring.h"

#include <pthread.h>

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock::store {
namespace {

using Kind = KeysFound::KeyKind;

constexpr int kMostTries = 3;  // of callers who need keys

// How long the keys are good for by this machine's clock. Nullopt: nobody said, or the clock says
// that they have ended already, so that it must be wrong.
std::optional<base::Duration> TimeLeft(const KeysFound& found) {
  if (found.keys == nullptr || !found.keys->end) return std::nullopt;
  const base::Duration left = *found.keys->end - std::chrono::system_clock::now();
  if (left <= base::Duration::zero()) return std::nullopt;
  return left;
}

bool AreSame(const SharedKeys& one, const SharedKeys& other) {
  return one == other || (one != nullptr && other != nullptr && *one == *other);
}

}  // namespace

KeyRing::KeyRing(std::unique_ptr<KeySource> source, const Options& options, OnNews on_news)
    : source_(std::move(source)),
      options_(options),
      on_news_(std::move(on_news)),
      back_off_({.first = options.first_pause, .longest = options.longest_pause}) {}

KeyRing::~KeyRing() {
  Stop();
  std::thread thread;
  {
    const base::MutexLock lock(mutex_);
    thread = std::move(thread_);
  }
  if (thread.joinable()) thread.join();
}

void KeyRing::Stop() {
  const base::MutexLock lock(mutex_);
  stopping_ = true;
  changed_.NotifyAll();
}

// ---- Callers ----

bool KeyRing::HasUsable(base::TimePoint now) const { return found_ && (!end_ || now < *end_); }

bool KeyRing::Changes() const { return !found_ || found_->kind != Kind::kFixed; }

void KeyRing::Ask() {
  if (stopping_ || is_asking_) return;
  if (!thread_.joinable()) thread_ = std::thread([this] { Serve(); });
  is_asked_ = true;
  changed_.NotifyAll();
}

void KeyRing::AwaitAnswer(uint64_t asked) {
  const base::TimePoint deadline = base::Now() + options_.patience;
  while (!stopping_ && answers_ <= asked) {
    const base::TimePoint now = base::Now();
    if (now >= deadline) return;
    changed_.WaitFor(mutex_, deadline - now);
  }
}

bool KeyRing::FailedJustNow(base::TimePoint now) const {
  return !trouble_.ok() && now < last_answer_ + options_.first_pause;
}

absl::StatusOr<SharedKeys> KeyRing::Get() {
  const base::MutexLock lock(mutex_);
  for (int tries = 0; !HasUsable(base::Now()) && tries < kMostTries; ++tries) {
    const bool may_pass = trouble_.ok() || absl::IsUnavailable(trouble_) || tries == 0;
    if (!may_pass || (tries == 0 && FailedJustNow(base::Now()))) break;
    if (tries == 0) Ask();  // later the thread asks by itself, after a pause
    AwaitAnswer(answers_);
  }
  if (stopping_) return absl::CancelledError("the daemon is ending");
  if (HasUsable(base::Now())) return found_->keys;
  if (!trouble_.ok()) return trouble_;
  return absl::UnavailableError("whoever gives the keys does not answer");
}

std::optional<SharedKeys> KeyRing::Peek() {
  const base::MutexLock lock(mutex_);
  const base::TimePoint now = base::Now();
  if (HasUsable(now)) return found_->keys;
  if (!FailedJustNow(now)) Ask();
  return std::nullopt;
}

bool KeyRing::Renew(const SharedKeys& refused) {
  const base::MutexLock lock(mutex_);
  if (found_ && !AreSame(found_->keys, refused)) return true;
  if (!Changes()) return false;
  const bool is_file = found_ && found_->kind == Kind::kFile;
  const base::Duration between = is_file ? options_.first_pause : options_.between_refused;
  const base::TimePoint now = base::Now();
  const bool is_too_soon = last_for_refused_ && now < *last_for_refused_ + between;
  const bool is_pending = is_asked_ || is_asking_;
  if (!is_pending && (is_too_soon || FailedJustNow(now))) return false;
  if (!is_pending) last_for_refused_ = now;
  Ask();
  AwaitAnswer(answers_);
  return found_ && !AreSame(found_->keys, refused);
}

bool KeyRing::CanRenew() const {
  const base::MutexLock lock(mutex_);
  return Changes();
}

void KeyRing::RenewSoon() {
  const base::MutexLock lock(mutex_);
  if (found_ && Changes()) Ask();
}

void KeyRing::Reread() {
  const base::MutexLock lock(mutex_);
  if (!found_ || found_->kind != Kind::kFile) return;
  Ask();
  AwaitAnswer(answers_);
}

std::string KeyRing::Describe() const {
  const base::MutexLock lock(mutex_);
  if (!found_) return trouble_.ok() ? "" : std::string(trouble_.message());
  std::string words = found_->keys == nullptr
                          ? absl::StrCat("the request was not signed: ", found_->from)
                          : absl::StrCat("signed with the keys of ", found_->from);
  if (!trouble_.ok()) absl::StrAppend(&words, "; renewing them failed: ", trouble_.message());
  return words;
}

// ---- The thread ----

// The last part of the keys' life is for renewing them, a part of it drawn at random.
base::Duration KeyRing::UntilNext(base::Duration left) const {
  static thread_local std::minstd_rand random(std::random_device{}());
  const double more = std::uniform_real_distribution<double>(1.0, 1.2)(random);
  const auto ahead =
      std::chrono::duration_cast<base::Duration>(std::min(options_.ahead, left / 4) * more);
  return std::max(options_.first_pause, left - ahead);
}

bool KeyRing::Take(absl::StatusOr<KeysFound> found, std::optional<base::Duration> left) {
  const base::MutexLock lock(mutex_);
  const base::TimePoint now = base::Now();
  is_asking_ = false;
  last_answer_ = now;
  ++answers_;
  changed_.NotifyAll();
  const bool failed_before = !std::exchange(trouble_, found.status()).ok();
  if (!found.ok()) {
    next_ = now + back_off_.Next();
    return !failed_before;
  }
  back_off_.Reset();
  const bool is_file = found->kind == Kind::kFile || found->kind == Kind::kServer;
  end_ = left ? std::optional(now + *left) : std::nullopt;
  next_ = left      ? std::optional(now + UntilNext(*left))
          : is_file ? std::optional(now + options_.reread)
                    : std::nullopt;
  const bool are_same = found_ && AreSame(found_->keys, found->keys);
  found_ = *std::move(found);
  return !are_same || failed_before;
}

bool KeyRing::AwaitDue() {
  const base::MutexLock lock(mutex_);
  while (!stopping_) {
    const base::TimePoint now = base::Now();
    if (is_asked_ || (next_ && now >= *next_)) {
      is_asked_ = false;
      is_asking_ = true;
      return true;
    }
    changed_.WaitFor(mutex_, next_ ? *next_ - now : base::Duration(std::chrono::hours(1)));
  }
  return false;
}

absl::StatusOr<KeysFound> KeyRing::Fetch() {
  absl::StatusOr<KeysFound> found = source_->Fetch();
  const base::MutexLock lock(mutex_);
  const bool had_file = found_ && found_->kind == Kind::kFile && found_->keys != nullptr;
  if (!found.ok() || !had_file || (found->keys != nullptr && found->kind == Kind::kFile)) {
    gone_since_.reset();
    return found;
  }
  const base::TimePoint now = base::Now();
  if (!gone_since_) gone_since_ = now;
  if (now - *gone_since_ >= options_.reread) return found;
  return absl::UnavailableError(
      absl::StrCat("there were keys in a file before, and now: ", found->from));
}

void KeyRing::Serve() {
  ::pthread_setname_np(::pthread_self(), "store-keys");
  while (AwaitDue()) {
    absl::StatusOr<KeysFound> found = Fetch();
    const std::optional<base::Duration> left = found.ok() ? TimeLeft(*found) : std::nullopt;
    KeyNews news = {.status = found.status(), .from = found.ok() ? found->from : ""};
    if (left) news.seconds = std::chrono::duration_cast<std::chrono::seconds>(*left).count();
    const bool is_news = Take(std::move(found), left);
    if (is_news && on_news_) on_news_(news);
  }
}

}  // namespace penstock::store
