#include "client/src/session/slow_stage.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/base/pace.h"

namespace penstock::client {
namespace {

constexpr uint64_t kLongInHandMs = 1000;  // decoding a photograph takes about 10

int Percent(double share) { return static_cast<int>(std::lround(100 * share)); }

std::string Seconds(uint64_t ms) { return absl::StrCat(ms / 1000, " s"); }

std::string Workers(const Progress& progress) {
  return progress.workers == 1 ? "the worker is"
                               : absl::StrCat("the ", progress.workers, " workers are");
}

std::string Rate(const Progress& progress, const char* what) {
  return absl::StrCat(progress.samples_per_second, " samples/s are ", what, " for ",
                      progress.sessions, " session", progress.sessions == 1 ? "" : "s");
}

// Of the batch that has made no progress for longest.
std::string BatchInHand(const Progress& progress, const PythonProgress& python) {
  const std::string worker =
      absl::StrCat("Python worker ", python.worker,
                   python.worker_pid == 0 ? "" : absl::StrCat(" (pid ", python.worker_pid, ")"));
  const std::string time = Seconds(progress.in_hand_ms);
  if (python.in_sample)
    return absl::StrCat("sample ", python.sample, " has been with ", worker, " for ", time);
  return absl::StrCat(worker, " has worked for ", time, " on the batch that begins with sample ",
                      python.sample, ", and is not within a sample: it begins or collates it");
}

// Never advises more workers than there are cores.
std::string PythonAdvice(const Progress& progress, const PythonProgress& python) {
  if (python.cores == 0 || progress.workers < python.cores)
    return "more workers (num_workers) would help";
  return absl::StrCat("more workers than the ", python.cores,
                      " cores would not help, but cheaper samples, or native steps");
}

std::string MakingInPython(const Progress& progress, const PythonProgress& python) {
  if (!python.has_host) return "waiting for the host of the dataset to be forked by its trainer";
  const std::string is = "making batches in Python: ";
  if (progress.workers_running == 0)
    return absl::StrCat(is, "none of its ", progress.workers,
                        " Python workers is ready; penstockctl workers says why");
  if (python.has_batch_in_hand && progress.in_hand_ms >= kLongInHandMs)
    return is + BatchInHand(progress, python);
  const std::string rate = Rate(progress, "made");
  if (progress.workers_busy >= base::kBusy)
    return absl::StrCat(is, Workers(progress), " busy (", Percent(progress.workers_busy), " %); ",
                        rate, "; ", PythonAdvice(progress, python));
  return absl::StrCat(is, python.has_batch_in_hand ? "" : "none of this session's is being made; ",
                      Workers(progress), " busy for only ", Percent(progress.workers_busy),
                      " % of the time; ", rate);
}

std::string Decoding(const Progress& progress) {
  if (progress.python) return MakingInPython(progress, *progress.python);
  if (progress.workers_running == 0) {
    return absl::StrCat("decoding: none of the ", progress.workers,
                        " workers is running; penstockctl workers says why");
  }
  if (progress.in_hand_ms >= kLongInHandMs) {
    return absl::StrCat("decoding: ", progress.in_hand, " has been with a worker for ",
                        Seconds(progress.in_hand_ms));
  }
  const std::string rate = Rate(progress, "decoded");
  if (progress.workers_busy >= base::kBusy) {
    return absl::StrCat("decoding: ", Workers(progress), " busy (", Percent(progress.workers_busy),
                        " %); ", rate, "; more cores and workers would help");
  }
  const std::string stalled =
      progress.workers_stalled == 0
          ? ""
          : absl::StrCat(" (", progress.workers_stalled, " cannot read another dataset's)");
  return absl::StrCat("reading: ", Workers(progress), " busy for only ",
                      Percent(progress.workers_busy), " % of the time and wait for files", stalled,
                      "; ", rate);
}

// For a session with no samples in progress.
std::string Waiting(const Progress& progress) {
  if (progress.workers_running == 0) return Decoding(progress);
  if (progress.sessions > 1)
    return absl::StrCat("waiting for other sessions: none of its samples is being read, because ",
                        "those of others come first; ", Decoding(progress));
  return absl::StrCat("waiting to be read: none of its samples is being read at this moment; ",
                      Decoding(progress));
}

std::string Releasing(const Progress& progress) {
  if (progress.copying > 0)
    return absl::StrCat(
        "releasing: all ", progress.device_depth,
        " places of this session in GPU memory hold batches that the GPU has not released yet");
  return absl::StrCat("releasing: this session holds all ", progress.window,
                      " batches of its window and has released none");
}

std::string Copying(const Progress& progress) {
  if (progress.copying > 0)
    return absl::StrCat("copying to the GPU: ", progress.copying, " decoded batches are waiting");
  return "copying: the daemon copies stored rows into this session's batches";
}

std::string StageOf(const Progress& progress) {
  switch (progress.phase) {
    case SessionPhase::kRunning:
      return "none: a batch has just become ready";
    case SessionPhase::kWaitingForTrainer:
      return Releasing(progress);
    case SessionPhase::kDecoding:
      return progress.decoding > 0 || progress.python ? Decoding(progress) : Waiting(progress);
    case SessionPhase::kCopying:
      return Copying(progress);
    case SessionPhase::kStalled:
      return absl::StrCat("reading: the source has stalled for ", Seconds(progress.stalled_ms),
                          ": ", progress.stalled_reason);
    case SessionPhase::kEnded:
      return "none: no more batches follow";
    case SessionPhase::kUnknown:
      break;
  }
  return "not known, because the daemon is of another version and does not report it";
}

}  // namespace

std::string SlowStage(const absl::StatusOr<Progress>& progress) {
  if (progress.ok()) return StageOf(*progress);
  return absl::StrCat("the daemon does not answer: ", std::string(progress.status().message()));
}

namespace {

// While batches are ready, a full window lets the workers rest. So idle workers don't show what
// caused the earlier delay.
std::string HeldUpBy(const absl::StatusOr<Progress>& progress) {
  if (!progress.ok() || progress->phase != SessionPhase::kRunning) return SlowStage(progress);
  return progress->workers_busy >= base::kBusy
             ? Decoding(*progress)
             : "batches are ready now, so the delay comes and goes";
}

}  // namespace

std::string Verdict(const SessionStats& counted, const absl::StatusOr<Progress>& progress) {
  const double seconds = counted.waited_seconds + counted.busy_seconds;
  if (counted.batches == 0 || seconds <= 0) return "no batch has been taken yet";
  const double share = counted.waited_seconds / seconds;
  const std::string waited = absl::StrCat("it waited for ", Percent(share), " % of the time");
  if (share < base::kHeldUp) {
    return absl::StrCat("the trainer sets the pace: ", waited, " for batches");
  }
  return absl::StrCat("the loader holds up the trainer: ", waited, "; ", HeldUpBy(progress));
}

SessionStats Complete(SessionStats counted, const absl::StatusOr<Progress>& progress) {
  if (progress.ok()) {
    counted.daemon_answered = true;
    counted.batches_ahead = progress->announced - std::min(progress->taken, progress->announced);
    counted.samples_decoded = progress->samples_decoded;
    counted.samples_replaced = progress->samples_replaced;
    counted.workers_busy = progress->workers_busy;
    counted.samples_per_second = progress->samples_per_second;
  }
  counted.verdict = Verdict(counted, progress);
  return counted;
}

}  // namespace penstock::client
