#include "client/ctl/commands.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>
#include <vector>

#include "common/base/check.h"
#include "common/posix/socket.h"
#include "server/rpc/server.h"
#include "tests/unit/rpc/fake_controller.h"

namespace penstock::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A daemon's services on their own socket, with a controller that returns canned answers.
class CommandsTest : public ::testing::Test {
 protected:
  CommandsTest() {
    char name[] = "/tmp/penstock-ctl-XXXXXX";
    PENSTOCK_CHECK(::mkdtemp(name) != nullptr);
    directory_ = name;
    address_ = directory_ + "/socket";
    auto listener = posix::Listen(address_, posix::SocketKind::kStream);
    PENSTOCK_CHECK(listener.ok());
    auto server = rpc::Server::Start({.trainers = *std::move(listener)}, controller_, {});
    PENSTOCK_CHECK(server.ok());
    server_ = *std::move(server);
  }
  ~CommandsTest() override {
    server_.reset();
    std::filesystem::remove_all(directory_);
  }

  absl::StatusOr<int> Do(std::vector<std::string> words, Terminal terminal = Terminal::kNo) {
    words.insert(words.begin(), {"--address", address_});
    const auto call = ParseCommandLine(words);
    PENSTOCK_CHECK(call.ok());
    return ctl::Run(*call, out_, progress_, terminal);
  }

  std::string directory_;
  std::string address_;
  rpc::FakeController controller_;
  std::unique_ptr<rpc::Server> server_;
  std::ostringstream out_;
  std::ostringstream progress_;
};

TEST_F(CommandsTest, ATraceThatCannotBeWrittenFailsWithItsRemedyAndLeavesNothing) {
  const auto code = Do({"trace", "-o", directory_ + "/none/trace.json"});

  EXPECT_FALSE(code.ok());
  EXPECT_THAT(std::string(code.status().message()), HasSubstr("give -o a file"));
}

TEST_F(CommandsTest, ATraceThatTheDaemonRefusesLeavesNoFile) {
  const auto code = Do({"trace", "--seconds", "0.7", "-o", directory_ + "/trace.json"});

  EXPECT_TRUE(absl::IsResourceExhausted(code.status()));
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/trace.json"));
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/trace.json.unfinished"));
}

TEST_F(CommandsTest, ATraceIsWrittenWholeAndItIsSaidWhereToOpenIt) {
  const std::string file = directory_ + "/trace.json";
  ASSERT_TRUE(Do({"trace", "-o", file}).ok());
  ASSERT_TRUE(Do({"trace", "-o", "-"}).ok());

  EXPECT_EQ(std::filesystem::file_size(file), 3u * (256 << 10));
  EXPECT_EQ(out_.str().size(), 3u * (256 << 10));
  EXPECT_THAT(progress_.str(),
              HasSubstr(file + ": 0 events of 5 s; open it at https://ui.perfetto"));
  EXPECT_THAT(progress_.str(), HasSubstr("7 more events were left out"));
}

TEST_F(CommandsTest, ATraceGoesWhereALinkLeadsAndKeepsTheFilesMode) {
  const std::string file = directory_ + "/real.json", link = directory_ + "/link.json";
  std::ofstream(file) << "old";
  std::filesystem::permissions(file, std::filesystem::perms(0600));
  std::filesystem::create_symlink(file, link);

  ASSERT_TRUE(Do({"trace", "-o", link}).ok());

  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(std::filesystem::file_size(file), 3u * (256 << 10));
  EXPECT_EQ(std::filesystem::status(file).permissions(), std::filesystem::perms(0600));
}

TEST_F(CommandsTest, ATraceGoesWhereALinkLeadsAlsoIfNothingIsThere) {
  const std::string file = directory_ + "/new.json", link = directory_ + "/link.json";
  std::filesystem::create_symlink("new.json", link);

  ASSERT_TRUE(Do({"trace", "-o", link}).ok());

  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_TRUE(std::filesystem::is_regular_file(std::filesystem::symlink_status(file)));
}

TEST_F(CommandsTest, ATraceDoesNotReplaceAPipe) {
  const std::string pipe = directory_ + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const posix::Fd end(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  std::future<size_t> read = std::async(std::launch::async, [&end] {
    size_t read = 0;
    std::vector<char> piece(1 << 16);
    pollfd poll = {.fd = end.get(), .events = POLLIN, .revents = 0};
    while (::poll(&poll, 1, 5000) == 1) {
      const ssize_t got = ::read(end.get(), piece.data(), piece.size());
      if (got <= 0) break;
      read += static_cast<size_t>(got);
    }
    return read;
  });

  EXPECT_TRUE(Do({"trace", "-o", pipe}).ok());

  EXPECT_EQ(read.get(), 3u * (256 << 10));
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST_F(CommandsTest, WithoutADaemonTheWorkFails) {
  server_.reset();

  const auto code = Do({"status"});

  EXPECT_TRUE(absl::IsNotFound(code.status()));
  EXPECT_EQ(ExitCodeOf(code.status()), 1);
  EXPECT_THAT(std::string(code.status().message()), HasSubstr("start penstockd there"));
}

TEST_F(CommandsTest, ADatasetThatCannotBeIndexedEndsWithTheDaemonsWords) {
  const auto code = Do({"index", "broken"}, Terminal::kYes);

  EXPECT_EQ(code.status().message(), "/data/broken: unreadable");
  EXPECT_EQ(out_.str(), "");
}

TEST_F(CommandsTest, ADigestIsWrittenAsSha256sumDoesAndForPrograms) {
  EXPECT_EQ(*Do({"digest", "flowers"}), 0);
  EXPECT_EQ(out_.str(), "0123abcd  flowers\n");

  out_.str("");
  EXPECT_EQ(*Do({"-o", "json", "digest", "flowers"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("\"content_digest\": \"0123abcd\""));
  EXPECT_TRUE(absl::IsNotFound(Do({"digest", "fish"}).status()));
}

TEST_F(CommandsTest, AnAddressThatIsNoneIsAWrongCall) {
  const auto code =
      ctl::Run({.command = Command::kStatus, .address = "x"}, out_, progress_, Terminal::kNo);

  EXPECT_EQ(ExitCodeOf(code.status()), 2);
}

TEST_F(CommandsTest, StatusIsShownToPeopleAndToPrograms) {
  EXPECT_EQ(*Do({"status"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("pid 4711"));

  out_.str("");
  EXPECT_EQ(*Do({"-o", "json", "status"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("\"pid\": 4711"));
}

TEST_F(CommandsTest, ColoursAreForPeopleAlone) {
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"--address", address_});
    out_.str("");
    EXPECT_TRUE(
        ctl::Run(*ParseCommandLine(words), out_, progress_, Terminal::kNo, Colors::kYes).ok());
    return out_.str();
  };

  EXPECT_THAT(run({"check"}), HasSubstr("\x1b["));
  EXPECT_THAT(run({"check", "-o", "json"}), Not(HasSubstr("\x1b")));
  EXPECT_THAT(run({"status", "-o", "json"}), Not(HasSubstr("\x1b")));
}

TEST_F(CommandsTest, CheckTellsOfTheDaemonThatAnswers) {
  EXPECT_EQ(*Do({"check"}), 1);

  EXPECT_THAT(out_.str(), HasSubstr("at " + address_ + ": not serving"));
}

TEST_F(CommandsTest, CompletionNeedsNoDaemon) {
  server_.reset();

  EXPECT_EQ(*Do({"completion", "bash"}), 0);

  EXPECT_THAT(out_.str(), HasSubstr("complete -F _penstockctl penstockctl"));
}

TEST_F(CommandsTest, EveryListIsShown) {
  EXPECT_EQ(*Do({"sessions"}), 0);
  EXPECT_EQ(*Do({"workers"}), 0);
  EXPECT_EQ(*Do({"datasets"}), 0);
  EXPECT_EQ(*Do({"quarantine", "list", "flowers"}), 0);

  EXPECT_THAT(out_.str(), HasSubstr("no session is open\nno worker is running\nno dataset"));
  EXPECT_THAT(out_.str(), HasSubstr("flowers"));
}

TEST_F(CommandsTest, IndexingEndsWithWhatWasFound) {
  EXPECT_EQ(*Do({"index", "flowers"}), 0);

  EXPECT_EQ(out_.str(), "flowers: 99 samples in 2 classes\n");
  EXPECT_THAT(progress_.str(), HasSubstr(" files"));
}

TEST_F(CommandsTest, OnATerminalTheBarIsTakenAwayAtTheEnd) {
  EXPECT_EQ(*Do({"index", "flowers"}, Terminal::kYes), 0);

  EXPECT_TRUE(progress_.str().ends_with("\r\x1b[K"));
}

TEST_F(CommandsTest, ClearingTheQuarantineSaysHowMany) {
  EXPECT_EQ(*Do({"quarantine", "clear", "flowers"}), 0);

  EXPECT_THAT(out_.str(), HasSubstr("cleared 3 samples"));
}

TEST_F(CommandsTest, EveryAnswerComesAsYamlToo) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"status"},
                                                {"sessions"},
                                                {"workers"},
                                                {"datasets"},
                                                {"quarantine", "list"},
                                                {"index", "flowers"},
                                                {"digest", "flowers"},
                                                {"reload"},
                                                {"drain", "--cancel"},
                                                {"workers", "--set", "2"},
                                                {"version"}}) {
    std::vector<std::string> call = {"-o", "yaml"};
    call.insert(call.end(), words.begin(), words.end());
    out_.str("");

    EXPECT_EQ(*Do(call), 0) << words[0];

    EXPECT_THAT(out_.str(), ::testing::MatchesRegex("[a-z_]+:(.|\n)*\n")) << words[0];
    EXPECT_THAT(out_.str(), Not(HasSubstr("{\n")));
  }
}

TEST_F(CommandsTest, TheVersionsOfBothAreShownAndADaemonThatIsAwayIsAnError) {
  EXPECT_EQ(*Do({"version"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("\npenstockd "));
  server_.reset();
  out_.str("");

  EXPECT_FALSE(Do({"version"}).ok());
  EXPECT_THAT(out_.str(), HasSubstr("penstockctl "));
}

TEST_F(CommandsTest, ADaemonThatServesIsNotWaitedForAndOneThatIsAwayIs) {
  controller_.serving = true;
  EXPECT_EQ(*Do({"wait", "--for=ready"}), 0);
  server_.reset();

  const auto waited = Do({"wait", "--timeout", "0s"});

  EXPECT_TRUE(absl::IsDeadlineExceeded(waited.status())) << waited.status();
  EXPECT_THAT(std::string(waited.status().message()), HasSubstr(address_));
}

TEST_F(CommandsTest, HelpAndVersionNeedNoDaemon) {
  server_.reset();

  EXPECT_EQ(*Do({"--help"}), 0);
  EXPECT_EQ(*Do({"--version"}), 0);

  EXPECT_THAT(out_.str(), HasSubstr("penstockctl [options] COMMAND"));
  EXPECT_THAT(out_.str(), HasSubstr("(protocol 1)"));
}

}  // namespace
}  // namespace penstock::ctl
