#include "common/telemetry/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <vector>

#include "common/telemetry/journal.h"
#include "common/telemetry/timestamp.h"

namespace penstock::telemetry {
namespace {

struct LevelName {
  Level level;
  absl::string_view name;
  spdlog::level::level_enum theirs;
};

constexpr std::array kLevels = {
    LevelName{Level::kDebug, "debug", spdlog::level::debug},
    LevelName{Level::kInfo, "info", spdlog::level::info},
    LevelName{Level::kWarning, "warning", spdlog::level::warn},
    LevelName{Level::kError, "error", spdlog::level::err},
};

spdlog::level::level_enum Theirs(Level level) { return kLevels[static_cast<size_t>(level)].theirs; }

constexpr char kTextPattern[] = "time=%Y-%m-%dT%H:%M:%S.%eZ level=%l %v";
constexpr char kJsonPattern[] = R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})";

// Tests set this to a socket of their own.
constexpr char kTestJournal[] = "PENSTOCK_TEST_JOURNAL_SOCKET";

std::atomic<Format> format = Format::kText;

// Never destroyed, as the logger.
std::atomic<Journal*> journal = nullptr;

// The process's only logger. Never destroyed, because a thread may still log while static objects
// are destroyed.
spdlog::logger& Logger() {
  static spdlog::logger& logger = *[] {
    auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    sink->set_formatter(
        std::make_unique<spdlog::pattern_formatter>(kTextPattern, spdlog::pattern_time_type::utc));
    auto made = std::make_unique<spdlog::logger>("penstock", std::move(sink));
    made->set_level(spdlog::level::info);
    return made.release();
  }();
  return logger;
}

void LogToJournal(Journal& to, Level level, absl::string_view event,
                  std::span<const LogField> fields) {
  const bool json = format.load() == Format::kJson;
  const std::string message =
      json ? absl::StrCat("{\"time\":\"", Timestamp::Now().text(), "\",\"level\":\"",
                          kLevels[static_cast<size_t>(level)].name, "\",",
                          FormatJsonEvent(event, fields), "}")
           : FormatEvent(event, fields);
  to.Write({.level = level, .message = message, .event = event, .fields = fields});
}

void LogToStderr(Level level, absl::string_view event, std::span<const LogField> fields) {
  const std::string line =
      format.load() == Format::kJson ? FormatJsonEvent(event, fields) : FormatEvent(event, fields);
  Logger().log(Theirs(level), spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace

absl::StatusOr<Level> ParseLevel(absl::string_view text) {
  for (const LevelName& known : kLevels) {
    if (known.name == text) return known.level;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is not a log level; write debug, info, warning or error"));
}

void SetLevel(Level level) { Logger().set_level(Theirs(level)); }

void SetFormat(Format next) {
  format.store(next);
  Logger().set_formatter(std::make_unique<spdlog::pattern_formatter>(
      next == Format::kJson ? kJsonPattern : kTextPattern, spdlog::pattern_time_type::utc));
}

Format GetFormat() { return format.load(); }

bool UseJournal() {
  if (!IsJournalStream(STDERR_FILENO, std::getenv("JOURNAL_STREAM"))) return false;
  Journal::Options options;
  if (const char* const socket = std::getenv(kTestJournal)) options.socket = socket;
  journal.store(new Journal(std::move(options)));
  return true;
}

bool UsesJournal() { return journal.load() != nullptr; }

uint64_t LostLines() {
  const Journal* const used = journal.load();
  return used == nullptr ? 0 : used->lost();
}

bool IsEnabled(Level level) { return Logger().should_log(Theirs(level)); }

void Log(Level level, absl::string_view event, std::initializer_list<LogField> fields,
         uint64_t suppressed) {
  if (!IsEnabled(level)) return;
  std::vector<LogField> all = Bounded({fields.begin(), fields.size()});
  if (suppressed > 0) all.emplace_back("suppressed", suppressed);
  if (Journal* const used = journal.load())
    LogToJournal(*used, level, event, all);
  else
    LogToStderr(level, event, all);
}

}  // namespace penstock::telemetry
