// Parses penstockctl's command line. Pure.
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
  kFetch,
  kCacheList,
  kCacheVerify,
  kCacheClear,
  kQuarantineList,
  kQuarantineClear,
  kCheck,
  kTop,
  kDrain,
  kReload,
  kCompletion,
  kServerVersion,
  kWait,
};

enum class Output { kTable, kJson, kYaml, kMan };  // kMan: help alone

struct Call {
  Command command = Command::kHelp;
  std::string address = {};  // empty: search for the daemon; else a path, or NODE:PORT
  std::string tls = {};      // folder with the files of TLS; empty: $PENSTOCK_TLS
  std::string nodes = {};    // top: a list of NODE:PORT; empty: one daemon
  Output output = Output::kTable;
  ColorChoice color = ColorChoice::kAuto;
  std::string dataset = {};  // index, digest, fetch, quarantine; empty: all, for "quarantine list"
  bool export_indexes = false;                  // index
  std::vector<std::string> more_datasets = {};  // index --export
  std::string to = {};        // index --export: a folder; empty: beside the shards
  std::string shell = {};     // completion
  std::string topic = {};     // help: a command; empty: all
  std::string config = {};    // check; empty: none
  base::Duration deadline{};  // drain; 0: no limit
  base::Duration timeout = std::chrono::seconds(30);  // wait
  bool watch = false;                        // status, sessions, workers, datasets, quarantine list
  bool cancel = false;                       // drain
  std::optional<uint32_t> set_workers = {};  // workers
  // trace: where it goes, "-": standard output; cache: its folder, empty: the environment's
  std::string file = {};
  uint32_t trace_ms = 5'000;  // trace: duration
};

// `arguments` are those after the program's name. InvalidArgument has a one-line message that says
// what to write instead.
absl::StatusOr<Call> ParseCommandLine(const std::vector<std::string>& arguments);

// The output of --help.
extern const char kHelp[];

}  // namespace penstock::ctl
