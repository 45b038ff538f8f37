#include "server/indexer/indexer_process.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/check.h"
#include "common/base/units.h"
#include "common/posix/socket.h"
#include "common/telemetry/log.h"
#include "server/source/files/escape.h"

namespace penstock::indexer {
namespace {

constexpr std::chrono::milliseconds kLookEvery(50);  // whether the answer is still wanted
constexpr int kDeathMs = 2000;  // until a process that closed its socket is gone
constexpr std::chrono::milliseconds kJudgeEvery(100);
constexpr uint64_t kSmallestSample = 1;  // bytes of a file: a line of a list, without its end
constexpr uint64_t kSmallestPlace = 16;  // bytes of a record, or of a member with its header
// How often it may ask for the same bytes of a remote file, on average; and how many more.
constexpr uint64_t kMostAskedTimes = 16, kMoreBytes = uint64_t{64} << 20;

std::string HowItEnded(const std::optional<posix::Exit>& exit) {
  if (!exit) return "closed its socket";
  if (!exit->signalled) return absl::StrCat("ended with exit code ", exit->code);
  const char* name = ::sigabbrev_np(exit->code);
  return absl::StrCat("died with signal ", exit->code,
                      name == nullptr ? "" : absl::StrCat(" (SIG", name, ")"));
}

std::string SecondsText(base::Duration time) {
  return absl::StrFormat("%.3g s", std::chrono::duration<double>(time).count());
}

}  // namespace

std::string DefaultProgram() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return self.parent_path() / "penstock-indexer";
}

absl::StatusOr<std::unique_ptr<IndexerProcess>> IndexerProcess::Start(
    const std::string& program, Sandboxed mode, const PatienceLimits& limits) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return base::ErrnoStatus(errno, "making an indexer's socket");
  posix::Fd ours(ends[0]);
  const posix::Fd theirs(ends[1]);
  PENSTOCK_ASSIGN_OR_RETURN(const posix::Fd memory,
                            posix::MakeMemory("penstock-indexer", kSharedBytes));
  PENSTOCK_ASSIGN_OR_RETURN(posix::Mapping window,
                            posix::Mapping::Map(memory, kSharedBytes, posix::Access::kReadOnly));
  std::vector<std::string> command = {program};
  std::vector<posix::Child::Inherited> fds = {{theirs.get(), kSocketNumber},
                                              {memory.get(), kWindowNumber}};
  sandbox::LastWords words;
  if (mode == Sandboxed::kNo) {
    command.emplace_back(kNoSandbox);
  } else {
    PENSTOCK_ASSIGN_OR_RETURN(words, sandbox::LastWords::Make());
  }
  if (const auto inherited = words.ForChild()) fds.push_back(*inherited);
  auto child = posix::Child::Spawn(command, fds, posix::Child::Wait::kForNothing,
                                   posix::Child::Environment::kOwn);
  if (!child.ok()) return base::Annotate(child.status(), "indexer");
  words.CloseWritingEnd();
  return std::unique_ptr<IndexerProcess>(new IndexerProcess(
      *std::move(child), std::move(ours), std::move(words), std::move(window), program, limits));
}

absl::Status IndexerProcess::Begin(const Question& question, const source::ScanWatch& watch,
                                   const std::atomic<bool>& closing) {
  PENSTOCK_CHECK(idle_);
  idle_ = false;
  watch_ = &watch;
  closing_ = &closing;
  at_ = end_ = 0;
  begun_ = last_ = false;
  Ask ask = question.ask;
  ask.number = ++number_;
  std::vector<int> fds;
  if (question.file != nullptr) {
    path_ = question.file->path;
    may_find_ = question.file->bytes / kSmallestSample;
    ask.bytes = question.file->bytes;
    remote_ = question.file->remote;
    file_bytes_ = question.file->bytes;
    may_ask_for_ = file_bytes_ * kMostAskedTimes + kMoreBytes;
    ask.is_remote = remote_ != nullptr ? 1 : 0;
    ask.wants_places = remote_ != nullptr && watch.piece ? 1 : 0;
    may_place_ = ask.wants_places != 0 ? file_bytes_ / kSmallestPlace : 0;
    if (remote_ == nullptr) fds.push_back(question.file->fd.get());
  }
  if (question.second != nullptr) {
    ask.has_second = 1;
    ask.second_bytes = question.second->bytes;
    if (question.sends_second) fds.push_back(question.second->fd.get());
  }
  looked_ = base::Now();
  patience_.Begin(ask.bytes + ask.second_bytes, LookAt());
  const std::string none;
  const std::string* texts[kTexts] = {question.file == nullptr ? &none : &path_,
                                      question.second == nullptr ? &none : &question.second->path,
                                      &question.image, &question.label};
  std::string all;
  for (size_t i = 0; i < kTexts; ++i) {
    ask.text_bytes[i] = static_cast<uint32_t>(texts[i]->size());
    absl::StrAppend(&all, *texts[i]);
  }
  return Send(ask, all, fds);
}

absl::Status IndexerProcess::Send(const Ask& ask, const std::string& texts,
                                  std::span<const int> fds) {
  std::vector<std::byte> message(sizeof ask + texts.size());
  if (message.size() > kMostAskBytes)
    return absl::InvalidArgumentError("the names of image, label or files are too long");
  std::memcpy(message.data(), &ask, sizeof ask);
  std::memcpy(message.data() + sizeof ask, texts.data(), texts.size());
  const absl::Status sent = posix::Send(socket_, message, fds);
  return absl::IsUnavailable(sent) ? Died() : sent;
}

absl::Status IndexerProcess::Take(std::span<std::byte> into) {
  while (!into.empty()) {
    if (at_ == end_) {
      if (last_) return Lie("less than it promised");
      PENSTOCK_RETURN_IF_ERROR(AwaitPiece());
      continue;
    }
    const size_t now = std::min(into.size(), end_ - at_);
    std::memcpy(into.data(), window_.data() + at_, now);
    at_ += now;
    into = into.subspan(now);
  }
  return absl::OkStatus();
}

absl::Status IndexerProcess::End() {
  while (!last_ && at_ == end_) PENSTOCK_RETURN_IF_ERROR(AwaitPiece());
  if (at_ != end_) return Lie("more than it promised");
  idle_ = true;
  return absl::OkStatus();
}

absl::Status IndexerProcess::AwaitPiece() {
  if (begun_) PENSTOCK_RETURN_IF_ERROR(Send({.task = Task::kMore, .number = number_}, "", {}));
  begun_ = true;
  for (;;) {
    PENSTOCK_ASSIGN_OR_RETURN(const Tell tell, AwaitTell());
    if (tell.number != number_) return Lie("something that was not asked");
    if (tell.what == Tells::kFound) {
      PENSTOCK_RETURN_IF_ERROR(Count(tell.count));
      continue;
    }
    if (tell.what == Tells::kPlace) {
      PENSTOCK_RETURN_IF_ERROR(TakePlace(tell));
      continue;
    }
    if (tell.what == Tells::kWants) {
      PENSTOCK_RETURN_IF_ERROR(SendBytes(tell));
      continue;
    }
    last_ = tell.what == Tells::kLastPiece;
    // An empty piece that is not the last one would let it keep us here for good.
    if ((!last_ && (tell.what != Tells::kPiece || tell.count == 0)) || tell.count > kWindowBytes)
      return Lie("a piece that cannot be");
    at_ = 0;
    end_ = tell.count;
    return absl::OkStatus();
  }
}

absl::Status IndexerProcess::Count(uint64_t more) {
  if (more == 0 || more > may_find_) return Lie("more samples than the file can hold");
  may_find_ -= more;
  if (watch_->found) watch_->found(more);
  return absl::OkStatus();
}

absl::Status IndexerProcess::TakePlace(const Tell& tell) {
  if (may_place_ == 0 || tell.count == 0 || tell.offset > file_bytes_ ||
      tell.count > file_bytes_ - tell.offset)
    return Lie("a place that is not in the file");
  --may_place_;
  watch_->piece({.offset = tell.offset, .bytes = tell.count});
  return absl::OkStatus();
}

absl::Status IndexerProcess::SendBytes(const Tell& wants) {
  if (remote_ == nullptr || wants.count == 0 || wants.count > kMostBytesSent ||
      wants.offset > file_bytes_ || wants.count > file_bytes_ - wants.offset)
    return Lie("bytes that are not in the file");
  if (wants.count > may_ask_for_) return Lie("the same bytes over and over");
  may_ask_for_ -= wants.count;
  std::string bytes(wants.count, '\0');
  PENSTOCK_RETURN_IF_ERROR(remote_->Read(wants.offset, std::as_writable_bytes(std::span(bytes))));
  return Send({.task = Task::kBytes, .number = number_}, bytes, {});
}

absl::StatusOr<Tell> IndexerProcess::AwaitTell() {
  for (;;) {
    if (closing_->load()) return absl::CancelledError("the daemon is ending");
    if (watch_->cancelled && watch_->cancelled())
      return absl::CancelledError("indexing was cancelled");
    const absl::StatusOr<posix::Message> message =
        posix::Receive(socket_, sizeof(Tell), kLookEvery);
    if (absl::IsDeadlineExceeded(message.status())) {
      PENSTOCK_RETURN_IF_ERROR(CheckPatience());
      continue;
    }
    if (absl::IsUnavailable(message.status())) return Died();
    if (absl::IsInvalidArgument(message.status())) return Lie("a message of another size");
    if (!message.ok()) return message.status();
    if (message->bytes.size() != sizeof(Tell)) return Lie("a message of another size");
    patience_.NoteMessage();
    Tell tell;
    std::memcpy(&tell, message->bytes.data(), sizeof tell);
    return tell;
  }
}

// ---- One that hangs ----

Patience::Look IndexerProcess::LookAt() const {
  const auto& activity = *reinterpret_cast<const Activity*>(window_.data() + kWindowBytes);
  return {.now = base::Now(),
          .cpu = posix::CpuTimeOf(pid()).value_or(base::Duration::zero()),
          .read_bytes = activity.reads.bytes.load(),
          .ready = activity.ready.load() != 0,
          // It may have mapped the file: then the kernel reads.
          .reading = activity.reads.reading.load() != 0 || posix::StateOf(pid()) == 'D'};
}

absl::Status IndexerProcess::CheckPatience() {
  if (base::Now() - looked_ < kJudgeEvery) return absl::OkStatus();
  const Patience::Look look = LookAt();
  looked_ = look.now;
  const OutOfPatience why = patience_.Judge(look);
  return why == OutOfPatience::kNo ? absl::OkStatus() : GiveUp(why);
}

absl::Status IndexerProcess::GiveUp(OutOfPatience why) {
  const bool stopped = posix::StateOf(pid()) == 'T';
  child_.Kill();
  const std::string path = absl::StrCat("'", source::EscapeForDisplay(path_), "'");
  const auto killed = [&](absl::StatusCode code, auto... words) {
    const std::string what = absl::StrCat(words...);
    PENSTOCK_LOG(kWarning, "indexer_killed", {"indexer", pid()}, {"path", path_}, {"reason", what});
    return absl::Status(code, what);
  };
  switch (why) {
    case OutOfPatience::kNotReady:
      return killed(absl::StatusCode::kUnavailable, "the process that should parse ", path,
                    " was not ready within ", SecondsText(limits_.start),
                    " (workers.start_timeout) and was killed; open the dataset again");
    case OutOfPatience::kStorageSilent:
      return killed(absl::StatusCode::kUnavailable, "the storage of ", path,
                    " has not answered a read for ", SecondsText(limits_.storage),
                    " (source.retry_for); open the dataset again when it does");
    case OutOfPatience::kComputesInVain:
      return killed(absl::StatusCode::kDataLoss, "the process that parses files used a core for ",
                    SecondsText(patience_.MostComputing()), " without reading on in ", path,
                    " and was killed; the file may be damaged or made to do harm");
    default:
      return killed(absl::StatusCode::kUnavailable, "the process that parses files ",
                    stopped ? "was stopped" : "did not run", " for ", SecondsText(limits_.stopped),
                    " while it read ", path, ", and was killed; open the dataset again");
  }
}

bool IndexerProcess::Kill(std::chrono::milliseconds wait) {
  child_.Kill();
  pollfd entry{.fd = child_.pidfd().get(), .events = POLLIN, .revents = 0};
  while (::poll(&entry, 1, static_cast<int>(wait.count())) < 0 && errno == EINTR) {
  }
  return IsGone();
}

// ---- One that died ----

void IndexerProcess::NoteIdleEnd() {
  if (!idle_ || !IsGone()) return;
  const std::optional<posix::Exit> exit = child_.Reap();
  if (exit && exit->signalled && exit->code == SIGSYS)
    ReportForbiddenCall(absl::StrCat("the process that parses files ", HowItEnded(exit),
                                     " after it had read '", source::EscapeForDisplay(path_), "'"));
}

void IndexerProcess::ReportForbiddenCall(const std::string& what) {
  made_forbidden_call_ = true;
  PENSTOCK_LOG(kError, "forbidden_call", {"indexer", pid()}, {"path", path_}, {"signal", SIGSYS},
               {"reason", what});
}

// Says what ended the process and which file it was reading.
absl::Status IndexerProcess::Died() {
  if (closing_->load()) return absl::CancelledError("the daemon is ending");
  pollfd entry{.fd = child_.pidfd().get(), .events = POLLIN, .revents = 0};
  while (::poll(&entry, 1, kDeathMs) < 0 && errno == EINTR) {
  }
  return DiedOf(child_.Reap());
}

absl::Status IndexerProcess::DiedOf(const std::optional<posix::Exit>& exit) {
  if (const std::string words = words_.Take(); !words.empty())
    PENSTOCK_LOG(kWarning, "indexer_last_words", {"indexer", pid()}, {"path", path_},
                 {"words", words});
  if (exit && child_.StartError() != 0)
    return base::ErrnoStatus(child_.StartError(), absl::StrCat("indexer: starting ", program_));
  const std::string what = absl::StrCat("the process that parses files ", HowItEnded(exit),
                                        " while it read '", source::EscapeForDisplay(path_), "'");
  if (exit && !exit->signalled && exit->code == kExitNoMemory)
    return absl::ResourceExhaustedError(
        absl::StrCat(what, ": it needs more memory than ", base::FormatBytes(kMemoryBytes)));
  if (exit && !exit->signalled && exit->code == kExitNotReady)
    return absl::FailedPreconditionError(
        "the process that parses files cannot work here; the daemon's log says why");
  if (exit && exit->signalled && exit->code == SIGSYS) {
    ReportForbiddenCall(what);
    return absl::DataLossError(
        absl::StrCat(what, ": a call that no parser makes, so the file is likely made to do harm"));
  }
  if (exit && exit->signalled && exit->code == SIGKILL)
    return absl::UnavailableError(
        absl::StrCat(what, ", perhaps because memory ran out; open the dataset again"));
  return absl::DataLossError(absl::StrCat(
      what, "; the file may be damaged or made to do harm, so check where it is from"));
}

}  // namespace penstock::indexer
