#include "server/app/crash.h"

#include <execinfo.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "absl/debugging/failure_signal_handler.h"
#include "absl/debugging/symbolize.h"
#include "server/app/version.h"

// From the linker: the program's load address.
extern "C" const char __executable_start;  // NOLINT(bugprone-reserved-identifier)

namespace penstock::app {
namespace {

char last_line[128];  // written before there are threads

void Write(const char* text) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, std::strlen(text));
}

// The backtrace, by the unwinder that glibc loads. Abseil's own follows frame pointers, which
// Debian's libraries don't have.
void WriteBacktrace() {
  constexpr int kMaxFrames = 64;
  void* frames[kMaxFrames];
  const int count = ::backtrace(frames, kMaxFrames);
  for (int i = 0; i < count; ++i) {
    char name[512], line[600];
    // The call's address instead of its return address.
    const bool known = absl::Symbolize(static_cast<char*>(frames[i]) - 1, name, sizeof(name));
    std::snprintf(line, sizeof(line), "    #%d %p %s\n", i, frames[i], known ? name : "?");
    Write(line);
  }
}

// Called for each piece that Abseil has written to standard error, and with null at the end.
// Allocates nothing once the unwinder is loaded.
[[maybe_unused]] void OnWritten(const char* text) {
  if (text != nullptr) return;
  WriteBacktrace();
  Write(last_line);
}

}  // namespace

void ReportCrashes([[maybe_unused]] const char* program) {
#if !defined(PENSTOCK_ASAN) && !defined(PENSTOCK_TSAN)
  std::snprintf(
      last_line, sizeof(last_line),
      "level=error event=crashed version=%s pid=%d program_at=%p; signal and backtrace are above\n",
      kVersion, static_cast<int>(::getpid()), static_cast<const void*>(&__executable_start));

  void* frame = nullptr;
  ::backtrace(&frame, 1);  // loads the unwinder, which a signal handler must not do
  absl::InitializeSymbolizer(program);
  absl::FailureSignalHandlerOptions options;
  options.call_previous_handler = false;
  options.writerfn = OnWritten;
  absl::InstallFailureSignalHandler(options);
  ::signal(SIGTERM, SIG_DFL);  // Abseil reports it as a failure, but for us it is none
#endif
}

}  // namespace penstock::app
