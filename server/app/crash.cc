#include "server/app/crash.h"

#include <elf.h>
#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>

#include "absl/debugging/symbolize.h"
#include "absl/strings/escaping.h"
#include "common/telemetry/log.h"
#include "common/telemetry/timestamp.h"
#include "server/app/crash_text.h"
#include "server/app/version.h"

// From the linker: the program's load address.
extern "C" const char __executable_start;  // NOLINT(bugprone-reserved-identifier)

namespace penstock::app {
namespace {

struct FatalSignal {
  int number;
  const char* name;
};
constexpr std::array kFatalSignals = {
    FatalSignal{SIGSEGV, "SIGSEGV"}, FatalSignal{SIGILL, "SIGILL"},
    FatalSignal{SIGFPE, "SIGFPE"},   FatalSignal{SIGABRT, "SIGABRT"},
    FatalSignal{SIGBUS, "SIGBUS"},   FatalSignal{SIGTRAP, "SIGTRAP"}};

constexpr int kMaxFrames = 64;
constexpr size_t kStackBytes = 128 << 10;
constexpr unsigned kSecondsToReport = 3;

// In hexadecimal, as debuggers find symbols by it; empty if the linker wrote none.
std::array<char, 2 * 64 + 1> build_id = {};

// Of the notes from `at` to `end`, whose names and contents are padded to four bytes.
[[maybe_unused]] void KeepBuildId(const char* at, const char* end) {
  const auto padded = [](size_t bytes) { return (bytes + 3) / 4 * 4; };
  ElfW(Nhdr) note;
  while (at + sizeof(note) <= end) {
    std::memcpy(&note, at, sizeof(note));
    const char* const name = at + sizeof(note);
    const char* const content = name + padded(note.n_namesz);
    if (note.n_type == NT_GNU_BUILD_ID &&
        absl::string_view(name, note.n_namesz) == absl::string_view("GNU", 4)) {
      const std::string digits = absl::BytesToHexString({content, note.n_descsz});
      digits.copy(build_id.data(), build_id.size() - 1);
    }
    at = content + padded(note.n_descsz);
  }
}

// For dl_iterate_phdr, which begins with the program itself.
[[maybe_unused]] int KeepProgramsBuildId(dl_phdr_info* program, size_t, void*) {
  for (int i = 0; i < program->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = program->dlpi_phdr[i];
    const char* const begin = reinterpret_cast<const char*>(program->dlpi_addr + header.p_vaddr);
    if (header.p_type == PT_NOTE) KeepBuildId(begin, begin + header.p_memsz);
  }
  return 1;  // libraries do not matter
}

// The handler's. Only the first thread that crashes uses them.
CrashText text;
std::atomic<pid_t> reporter = 0;  // a thread; 0: none

const char* NameOf(int signal_number) {
  for (const FatalSignal& signal : kFatalSignals)
    if (signal.number == signal_number) return signal.name;
  return "a signal";
}

struct CrashFacts {
  const char* signal;
  const void* address;
  int frames;
  void* const* frame;
};

// The name of the function that frame `i` is in. Looks up the call's address instead of its return
// address.
struct FrameName {
  FrameName(const CrashFacts& facts, int i) {
    if (!absl::Symbolize(static_cast<char*>(facts.frame[i]) - 1, text, sizeof(text))) text[0] = '?';
  }
  char text[512] = {};
};

void AddJson(const CrashFacts& facts) {
  text.Add("{\"time\":\"").Add(telemetry::Timestamp::Now().text());
  text.Add("\",\"level\":\"error\",\"event\":\"crashed\",\"signal\":\"").Add(facts.signal);
  text.Add("\",\"address\":\"").AddAddress(facts.address);
  text.Add("\",\"version\":\"").Add(kVersion).Add("\",\"build_id\":\"").Add(build_id.data());
  text.Add("\",\"pid\":");
  text.AddNumber(static_cast<uint64_t>(::getpid()));
  text.Add(",\"program_at\":\"").AddAddress(&__executable_start).Add("\",\"backtrace\":[");
  for (int i = 0; i < facts.frames; ++i) {
    text.Add(i == 0 ? "\"" : ",\"").AddAddress(facts.frame[i]).Add(" ");
    text.AddJson(FrameName(facts, i).text).Add("\"");
  }
  text.Add("]}\n");
}

void AddLines(const CrashFacts& facts, const char* prefix) {
  text.Add(prefix).Add("*** ").Add(facts.signal).Add(" received, address ");
  text.AddAddress(facts.address).Add(" ***\n");
  for (int i = 0; i < facts.frames; ++i) {
    text.Add(prefix).Add("    #").AddNumber(static_cast<uint64_t>(i)).Add(" ");
    text.AddAddress(facts.frame[i]).Add(" ").Add(FrameName(facts, i).text).Add("\n");
  }
  text.Add(prefix).Add("time=").Add(telemetry::Timestamp::Now().text());
  text.Add(" level=error event=crashed version=").Add(kVersion).Add(" build_id=");
  text.Add(build_id.data()).Add(" signal=").Add(facts.signal);
  text.Add(" pid=").AddNumber(static_cast<uint64_t>(::getpid())).Add(" program_at=");
  text.AddAddress(&__executable_start).Add("; signal and backtrace are above\n");
}

// In the journal, each line has its own priority; a JSON object is one line.
void Describe(const CrashFacts& facts) {
  const char* const prefix = telemetry::UsesJournal() ? "<3>" : "";
  if (telemetry::GetFormat() != telemetry::Format::kJson) return AddLines(facts, prefix);
  text.Add(prefix);
  AddJson(facts);
}

// Ends the process by the signal, with a core dump if those are enabled.
void DieBy(int signal_number) {
  ::signal(signal_number, SIG_DFL);
  ::raise(signal_number);
}

// The backtrace is by the unwinder that glibc loads. Abseil's own follows frame pointers, which
// Debian's libraries don't have. Allocates nothing once the unwinder is loaded.
[[maybe_unused]] void OnFatalSignal(int signal_number, siginfo_t* info, void*) {
  pid_t first = 0;
  if (!reporter.compare_exchange_strong(first, ::gettid())) {
    if (first != ::gettid()) ::sleep(kSecondsToReport + 1);  // until that thread ends the process
    return DieBy(signal_number);
  }
  ::signal(SIGALRM, SIG_DFL);
  ::alarm(kSecondsToReport);  // the end, if reporting hangs
  void* frames[kMaxFrames];
  const int count = ::backtrace(frames, kMaxFrames);
  Describe({.signal = NameOf(signal_number),
            .address = info->si_addr,
            .frames = count,
            .frame = frames});
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  DieBy(signal_number);
}

// For the calling thread, whose own stack may be the reason for the crash. Lives as long as the
// process.
[[maybe_unused]] void UseAlternateStack() {
  void* const memory = ::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return;
  const stack_t stack = {.ss_sp = memory, .ss_flags = 0, .ss_size = kStackBytes};
  ::sigaltstack(&stack, nullptr);
}

}  // namespace

void ReportCrashes([[maybe_unused]] const char* program) {
#if !defined(PENSTOCK_ASAN) && !defined(PENSTOCK_TSAN)
  void* frame = nullptr;
  ::backtrace(&frame, 1);  // loads the unwinder, which a signal handler must not do
  absl::InitializeSymbolizer(program);
  ::dl_iterate_phdr(KeepProgramsBuildId, nullptr);
  UseAlternateStack();
  for (const FatalSignal& signal : kFatalSignals) {
    struct sigaction action = {};
    action.sa_sigaction = OnFatalSignal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    ::sigaction(signal.number, &action, nullptr);
  }
#endif
}

}  // namespace penstock::app
