// Walks through every way in which a start can fail, and expects that `penstockd --check-config`
// fails in the same words, with the same exit code, and that it names file and line.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/programs/daemon_process.h"

namespace penstock::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
namespace fs = std::filesystem;

constexpr uid_t kNobody = 65534;

std::string LastLine(const std::string& text) {
  const size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return "";
  const size_t begin = text.rfind('\n', end);
  return text.substr(begin + 1, end - begin);
}

// How much memory is available changes from one moment to the next.
std::string WithoutMemory(const std::string& line) {
  static const std::regex amount("the machine has [^ ]+ [^ ]+ available");
  return std::regex_replace(line, amount, "the machine has … available");
}

class PreflightTest : public ::testing::Test {
 protected:
  PreflightTest() {
    fs::permissions(scratch_.path(), fs::perms(0755));
    fs::create_directory(At("home"));
    Own("home");
    fs::create_directory(At("data"));
  }
  ~PreflightTest() override {
    for (const auto& [path, mode] : closed_) fs::permissions(path, mode);
  }

  std::string At(const std::string& name) const { return scratch_.path() + "/" + name; }
  void Own(const std::string& name) {
    if (geteuid() != 0) return;
    EXPECT_EQ(chown(At(name).c_str(), kNobody, kNobody), 0);
  }
  void Write(const std::string& name, const std::string& text) { std::ofstream(At(name)) << text; }
  void Close(const std::string& name, unsigned mode) {
    closed_.emplace_back(At(name), fs::status(At(name)).permissions());
    fs::permissions(At(name), fs::perms(mode));
  }

  // The parts of a configuration, one a line, so that lines can be told apart. `more` comes last.
  std::string Config(const std::string& server, const std::string& more = "") const {
    return "server:\n  socket: " + At("home/run/s.sock") +
           "\n  group: ''\n  state_dir: ''\n  drain_for: 0s\n" + server +
           "pool: {max: 16MiB}\nworkers: {count: 1}\ngpu: {max: 0B}\n" + more;
  }
  // One that replaces a line of Config.
  static std::string Instead(std::string text, const std::string& line, const std::string& by) {
    const size_t at = text.find(line);
    EXPECT_NE(at, std::string::npos) << line;
    return text.replace(at, line.size(), by);
  }

  // Expects that neither would serve: in the same words, at this line of the file (0: the file as a
  // whole), and that the check leaves nothing behind.
  void ExpectRefused(const std::string& text, int line, const std::string& words) {
    SCOPED_TRACE(words);
    const std::string path = At("penstock.yaml");
    std::ofstream(path) << text;
    const std::vector<std::string> before = Everything();

    const Ended checked = RunProgram("penstockd", {"--check-config", path}, nobody_);
    EXPECT_EQ(Everything(), before);
    const Ended started = RunProgram("penstockd", {"--config", path}, nobody_);

    EXPECT_EQ(checked.exit_code, started.exit_code);
    EXPECT_THAT(started.exit_code, ::testing::AnyOf(1, 2)) << started.output;
    EXPECT_EQ(WithoutMemory(LastLine(checked.output)), WithoutMemory(LastLine(started.output)));
    EXPECT_THAT(checked.output, HasSubstr(words));
    const std::string at = path + (line > 0 ? ":" + std::to_string(line) : "");
    EXPECT_THAT(LastLine(checked.output), StartsWith("penstockd: " + at + ":"));
  }
  void ExpectStarts(const std::string& text) {
    const std::string path = At("penstock.yaml");
    std::ofstream(path) << text;
    const std::vector<std::string> before = Everything();
    const Ended checked = RunProgram("penstockd", {"--check-config", path}, nobody_);
    EXPECT_EQ(checked.exit_code, 0) << checked.output;
    EXPECT_THAT(checked.output, EndsWith(path + ": ok\n"));
    EXPECT_EQ(Everything(), before);
  }
  std::vector<std::string> Everything() const {
    std::vector<std::string> names;
    const auto skip = fs::directory_options::skip_permission_denied;
    for (const auto& entry : fs::recursive_directory_iterator(scratch_.path(), skip))
      names.push_back(entry.path());
    std::sort(names.begin(), names.end());
    return names;
  }

  TemporaryDirectory scratch_;
  std::vector<std::pair<std::string, fs::perms>> closed_;
  Identity nobody_ = {.user = geteuid() == 0 ? kNobody : 0};
};

// A port that somebody else has. It is below those that the kernel hands out, so that no other test
// gets it once it is free.
class TakenPort {
 public:
  TakenPort() {
    sockaddr_in any = {};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    uint16_t port = 10000 + getpid() % 20000;
    do {
      any.sin_port = htons(++port);
    } while (bind(socket_, reinterpret_cast<sockaddr*>(&any), sizeof(any)) != 0 && port < 32000);
    EXPECT_EQ(listen(socket_, 1), 0);
    address_ = "127.0.0.1:" + std::to_string(port);
  }
  ~TakenPort() { close(socket_); }
  const std::string& address() const { return address_; }

 private:
  const int socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string address_;
};

TEST_F(PreflightTest, ACheckOfWhatStartsLeavesNothingBehind) {
  ExpectStarts(Instead(Config(""), "  state_dir: ''\n", "  state_dir: " + At("home/state") + "\n"));
}

TEST_F(PreflightTest, TheFile) {
  ExpectRefused("pool: {max: 16MiB\n", 0, "this is not valid YAML");
  ExpectRefused("server:\n  sockte: /run/s\n", 2, "server.sockte: unknown key");
  ExpectRefused("pool:\n  max: 4\n", 2, "pool.max: got '4'");
  ExpectRefused("pool: {max: 16MiB}\npool: {max: 16MiB}\n", 2, "twice");
  Write("secret.yaml", "pool: {max: 16MiB}\n");
  Close("secret.yaml", 0);
  const Ended checked = RunProgram("penstockd", {"--check-config", At("secret.yaml")}, nobody_);
  const Ended started = RunProgram("penstockd", {"--config", At("secret.yaml")}, nobody_);
  EXPECT_THAT(checked.output, HasSubstr("secret.yaml: Permission denied"));
  EXPECT_EQ(checked.output, started.output);
  EXPECT_EQ(checked.exit_code, started.exit_code);
}

TEST_F(PreflightTest, TheSocket) {
  const std::string line = "  socket: " + At("home/run/s.sock") + "\n";
  const std::string plain = Config("");
  ExpectRefused(Instead(plain, line, "  socket: " + At(std::string(90, 's')) + "\n"), 2,
                "at most 100 bytes");
  ExpectRefused(Instead(plain, line, "  socket: /proc/none/s.sock\n"), 2,
                "server.socket: creating the directory /proc/none");
  ExpectRefused(Instead(plain, line, "  socket: " + At("data/s.sock") + "\n"), 2,
                nobody_.IsOurs() ? "" : "belongs to user");
  fs::create_directory(At("home/open"));
  Own("home/open");
  Close("home/open", 0777);
  ExpectRefused(Instead(plain, line, "  socket: " + At("home/open/s.sock") + "\n"), 2,
                "chmod go-w");
  fs::create_symlink(At("home"), At("link"));
  ExpectRefused(Instead(plain, line, "  socket: " + At("link/s.sock") + "\n"), 2,
                "a symbolic link");
  Write("home/file", "");
  ExpectRefused(Instead(plain, line, "  socket: " + At("home/file/s.sock") + "\n"), 2,
                "not a directory");
}

TEST_F(PreflightTest, WhatIsAtTheSocketsPathAndIsNoSocket) {
  for (const char* name : {"s.sock", "s.sock.door"}) {
    fs::create_directories(At("home/run"));
    fs::permissions(At("home/run"), fs::perms(0700));
    Own("home/run");
    Write(std::string("home/run/") + name, "");
    ExpectRefused(Config(""), 2, "is not a socket");
    fs::remove_all(At("home/run"));
  }
}

TEST_F(PreflightTest, UsersAndGroups) {
  const std::string group = "  group: ''\n";
  ExpectRefused(Instead(Config(""), group, "  group: nobodys\n"), 3,
                "server.group: there is no group 'nobodys'");
  if (!nobody_.IsOurs())
    ExpectRefused(Instead(Config(""), group, "  group: root\n"), 2,
                  "run the daemon as a member of that group");
  ExpectRefused(Config("  admins: [root, nobody-of-that-name]\n"), 6,
                "server.admins[1]: there is no user");
  ExpectRefused(
      Config("", "datasets:\n- name: a\n  folder: " + At("data") + "\n  groups: [nobodys]\n"), 12,
      "datasets[0].groups[0]: there is no group 'nobodys'");
}

TEST_F(PreflightTest, TheOperatorsSocket) {
  ExpectRefused(Config("  admin_socket: /proc/none/a.sock\n"), 6, "server.admin_socket: ");
}

TEST_F(PreflightTest, Ports) {
  const TakenPort taken;
  ExpectRefused(Config("  metrics_address: " + taken.address() + "\n"), 6,
                "server.metrics_address: listening on " + taken.address());
  ExpectRefused(Config("  health_address: " + taken.address() + "\n"), 6,
                "server.health_address: listening on " + taken.address());
  ExpectRefused(Config("  metrics_address: 192.0.2.1:7741\n"), 6, "does not have that address");
}

TEST_F(PreflightTest, OnePortForTwoPurposes) {
  std::string address;
  {
    const TakenPort free_soon;
    address = free_soon.address();
  }
  ExpectRefused(Config("  metrics_address: " + address + "\n  health_address: " + address + "\n"),
                7, "server.health_address: ");
}

TEST_F(PreflightTest, FilesOfTls) {
  std::string address;
  {
    const TakenPort free_soon;
    address = free_soon.address();
  }
  const std::string keys =
      "  admin_address: " + address + "\n  admin_certificate: " + At("node.pem") +
      "\n  admin_key: " + At("node.key") + "\n  admin_client_ca: " + At("ca.pem") + "\n";
  ExpectRefused(Config(keys), 7, "server.admin_certificate: ");
  Write("node.pem", "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n");
  Write("node.key", "x");
  ExpectRefused(Config(keys), 8, "server.admin_key: ");
  Write("node.key", "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n");
  ExpectRefused(Config(keys), 9, "server.admin_client_ca: ");
  Write("ca.pem", "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n");
  ExpectRefused(Config(keys), 7, "cannot be used together");
}

TEST_F(PreflightTest, Folders) {
  ExpectRefused(Config("", "source:\n  roots:\n  - " + At("data") + "\n  - /none/at/all\n"), 12,
                "source.roots[1]: /none/at/all: No such file or directory; mount it");
  ExpectRefused(Config("", "datasets:\n- name: a\n  folder: " + At("penstock.yaml") + "\n"), 11,
                "is not a folder");
  if (nobody_.IsOurs()) return;
  fs::create_directory(At("closed"));
  Close("closed", 0700);
  ExpectRefused(Config("", "datasets:\n- name: a\n  folder: " + At("closed") + "\n"), 11,
                "datasets[0].folder: " + At("closed") + ": Permission denied; let user");
}

TEST_F(PreflightTest, FilesOfStores) {
  const std::string place = "stores:\n  places:\n  - url: s3://bucket/train/\n";
  const std::string profile =
      place + "    credentials: profile\n    credentials_file: " + At("keys") + "\n";
  ExpectRefused(Config("", profile), 13, "stores.places[0].credentials_file: ");
  Write("keys", "[other]\naws_access_key_id = a\naws_secret_access_key = b\n");
  ExpectRefused(Config("", profile), 13, "stores.places[0].credentials_file: ");
  Write("keys", "[default]\naws_access_key_id = a\n");
  ExpectRefused(Config("", profile), 13, "stores.places[0].credentials_file: ");
  ExpectRefused(
      Config("", place +
                     "    credentials: web_identity\n    role_arn: arn:aws:iam::1:role/a\n"
                     "    token_file: " +
                     At("token") + "\n"),
      14, "stores.places[0].token_file: ");
  ExpectRefused(Config("", place + "    ca: " + At("ca.pem") + "\n"), 12, "stores.places[0].ca: ");
  Write("keys", "[default]\naws_access_key_id = a\naws_secret_access_key = b\n");
  ExpectStarts(Config("", profile));
}

TEST_F(PreflightTest, Memory) {
  ExpectRefused(Instead(Config(""), "pool: {max: 16MiB}",
                        "pool: {max: 60TiB, preallocate: 50TiB, segment: 32MiB}"),
                6, "pool.preallocate: got 50.0 TiB, but the machine has");
}

TEST_F(PreflightTest, Programs) {
  ExpectRefused(
      Instead(Config(""), "workers: {count: 1}", "workers: {count: 1, program: /none/worker}"), 7,
      "workers.program: '/none/worker': No such file");
  ExpectRefused(
      Instead(Config(""), "workers: {count: 1}", "workers: {count: 1, program: /bin/true}"), 0, "");
}

// The addresses, ports and the folder of a daemon that runs.
class BesideADaemonTest : public PreflightTest {
 protected:
  static std::string Text(const std::string& state, const std::string& metrics) {
    return "server:\n  socket: SOCKET\n  group: ''\n  state_dir: " + state +
           "\n  drain_for: 0s\n  metrics_address: " + metrics +
           "\npool: {max: 64MiB, preallocate: 32MiB}\nworkers: {count: 1}\ngpu: {max: 0B}\n";
  }
  static std::string FreeAddress() { return TakenPort().address(); }

  const std::string metrics_ = FreeAddress();
  DaemonProcess daemon_{
      {.workers = 1, .config = Text(At("home/state"), metrics_), .user = nobody_}};
  const std::string file_ = daemon_.directory() + "/config.yaml";
};

TEST_F(BesideADaemonTest, ItsAddressIsTaken) {
  const Ended checked = RunProgram("penstockd", {"--check-config", file_}, nobody_);
  const Ended started = RunProgram("penstockd", {"--config", file_}, nobody_);

  EXPECT_EQ(checked.output, started.output);
  EXPECT_EQ(checked.exit_code, started.exit_code);
  EXPECT_THAT(checked.output, HasSubstr("config.yaml:2: server.socket: a daemon (pid " +
                                        std::to_string(daemon_.pid()) + ") already serves"));
}

TEST_F(BesideADaemonTest, ItsFolderIsTaken) {
  ExpectRefused(Instead(Config(""), "  state_dir: ''\n", "  state_dir: " + At("home/state") + "\n"),
                4, "a daemon (pid " + std::to_string(daemon_.pid()) + ") already uses");
}

TEST_F(BesideADaemonTest, ACheckOfItsRestartSucceedsAndDoesNotDisturbIt) {
  const std::string pid = std::to_string(daemon_.pid());

  const Ended checked =
      RunProgram("penstockd", {"--check-config", file_, "--instead-of", pid}, nobody_);
  EXPECT_EQ(checked.exit_code, 0) << checked.output;
  EXPECT_EQ(daemon_.Ctl({"status"}).exit_code, 0);
  EXPECT_TRUE(fs::is_socket(daemon_.address()));

  const Ended other =
      RunProgram("penstockd", {"--check-config", file_, "--instead-of", "1"}, nobody_);
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_THAT(other.output, HasSubstr("already serves"));
}

TEST_F(BesideADaemonTest, ACheckOfItsRestartFindsWhatHasBecomeWrong) {
  daemon_.Rewrite(Text(At("home/state"), metrics_) + "datasets: [{name: a, folder: /none}]\n");

  const Ended checked =
      RunProgram("penstockd",
                 {"--check-config", file_, "--instead-of", std::to_string(daemon_.pid())}, nobody_);

  EXPECT_EQ(checked.exit_code, 2);
  EXPECT_THAT(checked.output, HasSubstr("config.yaml:10: datasets[0].folder: /none"));
}

TEST(SyntaxTest, AFileForAnotherMachineIsCheckedAlone) {
  const TemporaryDirectory scratch;
  const std::string path = scratch.path() + "/p.yaml";
  std::ofstream(path) << "server: {group: nobodys}\ndatasets: [{name: a, folder: /none}]\n";
  EXPECT_EQ(RunProgram("penstockd", {"--check-syntax", path}).exit_code, 0);

  std::ofstream(path) << "pool:\n  max: 4\n";
  const Ended wrong = RunProgram("penstockd", {"--check-syntax", path});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.output, HasSubstr(path + ":2: pool.max: got '4'"));
}

}  // namespace
}  // namespace penstock::testing
