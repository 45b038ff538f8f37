// penstockctl's command line. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/ctl/color.h"
#include "common/base/clock.h"
#include "common/base/status.h"

namespace penstock::ctl {

enum class Command {
  kHelp,
  kVersion,
  kStatus,
  kTrace,
  kSessions,
  kWorkers,
  kDatasets,
  kIndex,
  kDigest,
  kQuarantineList,
  kQuarantineClear,
  kCheck,
  kTop,
  kDrain,
  kReload,
  kCompletion,
};

enum class Output { kTable, kJson };

struct Call {
  Command command = Command::kHelp;
  std::string address;  // empty: look for the daemon
  Output output = Output::kTable;
  ColorWish color = ColorWish::kAuto;
  std::string dataset;        // of index, digest, quarantine; empty for "quarantine list" of all
  std::string shell;          // of completion
  std::string config;         // of check; empty: none
  base::Duration deadline{};  // of drain; 0: as long as it takes
  bool cancel = false;        // of drain
  std::optional<uint32_t> set_workers;  // of workers
  std::string file;                     // of trace; "-": standard output
  uint32_t trace_ms = 5'000;            // of trace
};

// The arguments behind the program's name. InvalidArgument is one line that says what to write
// instead.
absl::StatusOr<Call> ParseCommandLine(const std::vector<std::string>& arguments);

// What --help prints.
extern const char kHelp[];

}  // namespace penstock::ctl
