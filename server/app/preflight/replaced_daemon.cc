#include "server/app/preflight/replaced_daemon.h"

#include <fstream>
#include <sstream>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace penstock::app {
namespace {

constexpr absl::string_view kListening = "0A";  // TCP_LISTEN of the kernel's tcp_states.h

std::vector<std::string> LinesOf(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(std::move(line));
  return lines;
}

std::vector<std::string> WordsOf(const std::string& line) {
  return absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
}

// "  0: 0100007F:1F90 00000000:0000 0A tx:rx tr:when retrnsmt UID …": proc(5).
bool IsListener(const std::string& line, uint16_t port, uid_t user) {
  const std::vector<std::string> words = WordsOf(line);
  if (words.size() < 8 || words[3] != kListening) return false;
  const std::vector<std::string> local = absl::StrSplit(words[1], ':');
  uint32_t at = 0;
  uid_t owner = 0;
  return local.size() == 2 && absl::SimpleHexAtoi(local[1], &at) && at == port &&
         absl::SimpleAtoi(words[7], &owner) && owner == user;
}

}  // namespace

ReplacedDaemon LookAtReplaced(pid_t pid, const std::string& root) {
  ReplacedDaemon daemon = {.pid = pid};
  if (pid == 0) return daemon;
  for (const std::string& line : LinesOf(absl::StrCat(root, "/proc/", pid, "/status"))) {
    const std::vector<std::string> words = WordsOf(line);
    uint64_t number = 0;
    if (words.size() < 2 || !absl::SimpleAtoi(words[1], &number)) continue;
    if (words[0] == "Uid:") daemon.user = static_cast<uid_t>(number);
    if (words[0] == "RssShmem:") daemon.pool_bytes = number * 1024;
    if (words[0] == "Threads:") daemon.threads = number;
  }
  return daemon;
}

bool ListensAt(const ReplacedDaemon& daemon, const posix::TcpAddress& address,
               const std::string& root) {
  if (!daemon.user) return false;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"})
    for (const std::string& line : LinesOf(root + table))
      if (IsListener(line, address.port, *daemon.user)) return true;
  return false;
}

}  // namespace penstock::app
