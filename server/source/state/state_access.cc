#include "server/source/state/state_access.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <span>

#include "common/posix/failpoint.h"
#include "common/telemetry/log.h"

namespace penstock::source {
namespace {

constexpr base::Duration kLook = std::chrono::milliseconds(50);

absl::Status WriteText(const std::string& path, absl::string_view text) {
  PENSTOCK_FAILPOINT_RETURN("quarantine.write");
  PENSTOCK_RETURN_IF_ERROR(MakeFolders(path.substr(0, path.rfind('/'))));
  return WriteStateFile(path, std::as_bytes(std::span(text)));
}

std::string Seconds(base::Duration time) {
  return absl::StrCat(std::chrono::duration_cast<std::chrono::seconds>(time).count(), " s");
}

}  // namespace

StateAccess::StateAccess(Options options) : options_(std::move(options)), jobs_(SIZE_MAX) {
  writer_ = std::thread([this] {
    ::pthread_setname_np(::pthread_self(), "state");
    Write();
  });
}

StateAccess::~StateAccess() {
  {
    const base::MutexLock lock(mutex_);
    ending_ = true;
  }
  changed_.NotifyAll();
  writer_.join();
}

// ---- Jobs whose result the caller waits for ----

absl::Status StateAccess::NoAnswer() const {
  return absl::UnavailableError(absl::StrCat("the state directory has not answered for ",
                                             Seconds(base::Now() - overdue_since_),
                                             "; check its storage"));
}

absl::Status StateAccess::Do(std::function<void(const Step&)> work) {
  const auto job = std::make_shared<Job>();
  const base::MutexLock lock(mutex_);
  jobs_.Sweep();
  if (overdue_ > 0) return NoAnswer();
  auto thread = posix::LooseThreads::Start([this, job, work = std::move(work)] {
    ::pthread_setname_np(::pthread_self(), "state-job");
    work([&job] { job->steps.fetch_add(1, std::memory_order_relaxed); });
    const base::MutexLock ended(mutex_);
    job->done = true;
    if (job->overdue) --overdue_;
    changed_.NotifyAll();
  });
  if (!thread) return absl::ResourceExhaustedError("no thread to use the state directory with");
  jobs_.Leave(*std::move(thread));
  uint64_t steps = 0;
  base::TimePoint last = base::Now();
  while (!job->done) {
    changed_.WaitFor(mutex_, kLook);
    const uint64_t now_at = job->steps.load(std::memory_order_relaxed);
    if (std::exchange(steps, now_at) != now_at) last = base::Now();
    if (job->done || base::Now() - last <= options_.patience) continue;
    job->overdue = true;
    if (overdue_++ == 0) {
      overdue_since_ = last;
      PENSTOCK_LOG(kWarning, "state_directory_stalled", {"reason", NoAnswer().message()});
    }
    return NoAnswer();
  }
  return absl::OkStatus();
}

// ---- Texts written by the thread "state" ----

absl::Status StateAccess::WriteLater(const std::string& path, std::string text) {
  const base::MutexLock lock(mutex_);
  const auto known = texts_.find(path);
  const uint64_t before = known == texts_.end() ? 0 : known->second.text.size();
  const bool too_many = known == texts_.end() && texts_.size() >= options_.most_files;
  if (too_many || bytes_ - before + text.size() > options_.most_bytes)
    return absl::ResourceExhaustedError(absl::StrCat(
        texts_.size(), " files of ", bytes_, " bytes wait to be written to the state directory"));
  bytes_ += text.size() - before;
  replaced_ = replaced_ || writing_ == path;
  if (known == texts_.end())
    texts_[path] = {.text = std::move(text), .since = base::Now()};
  else
    known->second.text = std::move(text);
  changed_.NotifyAll();
  return absl::OkStatus();
}

std::optional<std::string> StateAccess::Waiting(const std::string& path) const {
  const base::MutexLock lock(mutex_);
  const auto found = texts_.find(path);
  if (found == texts_.end()) return std::nullopt;
  return found->second.text;
}

std::map<std::string, StateAccess::Text>::iterator StateAccess::NextText(base::TimePoint now) {
  return std::find_if(texts_.begin(), texts_.end(),
                      [now](const auto& text) { return text.second.not_before <= now; });
}

// A text that cannot be written stays queued; at the end each is tried once more.
void StateAccess::Write() {
  const auto write = options_.write ? options_.write : WriteText;
  mutex_.lock();
  bool last_round = false;
  for (;;) {
    if (ending_ && !std::exchange(last_round, true))
      for (auto& [path, text] : texts_) text.not_before = {};
    const auto next = NextText(base::Now());
    if (next == texts_.end()) {
      if (ending_) break;
      changed_.WaitFor(mutex_,
                       std::min<base::Duration>(options_.try_again, std::chrono::seconds(1)));
      continue;
    }
    const std::string path = next->first, text = next->second.text;
    writing_ = path;
    writing_since_ = base::Now();
    replaced_ = false;
    mutex_.unlock();
    const absl::Status written = write(path, text);
    mutex_.lock();
    Wrote(path, written);
  }
  mutex_.unlock();
}

void StateAccess::Wrote(const std::string& path, const absl::Status& written) {
  writing_.clear();
  const auto text = texts_.find(path);
  if (written.ok()) {
    if (!not_written_.empty()) PENSTOCK_LOG(kInfo, "state_saved", {"file", path});
    not_written_.clear();
    if (replaced_) return;  // a newer text is queued
    bytes_ -= text->second.text.size();
    texts_.erase(text);
    return;
  }
  if (not_written_ != written.message())
    PENSTOCK_LOG(kWarning, "state_not_saved", {"file", path}, {"reason", written.message()});
  not_written_ = std::string(written.message());
  text->second.not_before = ending_ ? base::TimePoint::max() : base::Now() + options_.try_again;
}

std::string StateAccess::trouble() const {
  const base::MutexLock lock(mutex_);
  if (overdue_ > 0) return std::string(NoAnswer().message());
  const base::Duration writing = base::Now() - writing_since_;
  if (!writing_.empty() && writing > options_.patience)
    return absl::StrCat("the state directory has not answered for ", Seconds(writing), "; ",
                        texts_.size(), " files are not written; check its storage");
  if (!not_written_.empty() && !texts_.empty())
    return absl::StrCat("the state directory: ", not_written_, "; ", texts_.size(),
                        " files are not written");
  return "";
}

}  // namespace penstock::source
