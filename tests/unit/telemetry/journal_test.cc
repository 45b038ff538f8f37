#include "common/telemetry/journal.h"

#include <endian.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"

namespace penstock::telemetry {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;

// Reads a datagram as the journal does.
std::map<std::string, std::string> ParseDatagram(const std::string& datagram) {
  std::map<std::string, std::string> variables;
  for (size_t at = 0; at < datagram.size();) {
    const size_t name_end = datagram.find_first_of("=\n", at);
    const std::string name = datagram.substr(at, name_end - at);
    size_t begin = name_end + 1, size = datagram.find('\n', begin) - begin;
    if (datagram[name_end] == '\n') {
      uint64_t bytes = 0;
      std::memcpy(&bytes, datagram.data() + begin, sizeof(bytes));
      begin += sizeof(bytes);
      size = le64toh(bytes);
    }
    variables[name] = datagram.substr(begin, size);
    EXPECT_EQ(datagram.at(begin + size), '\n');
    at = begin + size + 1;
  }
  return variables;
}

JournalEntry MakeEntry(Level level, const std::vector<LogField>& fields) {
  return {.level = level, .message = "event=e a=1", .event = "e", .fields = fields};
}

TEST(ToDatagramTest, AnEntryHasItsMessagePriorityNameAndFields) {
  const std::vector<LogField> fields = {{"sample", 7}, {"path", "/a=b c"}};

  EXPECT_THAT(ParseDatagram(ToDatagram(MakeEntry(Level::kWarning, fields))),
              ElementsAre(Pair("MESSAGE", "event=e a=1"), Pair("PENSTOCK_EVENT", "e"),
                          Pair("PENSTOCK_PATH", "/a=b c"), Pair("PENSTOCK_SAMPLE", "7"),
                          Pair("PRIORITY", "4"), Pair("SYSLOG_IDENTIFIER", "penstockd")));
}

TEST(ToDatagramTest, AValueWithLineBreaksCannotAddAVariable) {
  const std::vector<LogField> fields = {{"reason", "a\nPRIORITY=0\n"}};

  const auto variables = ParseDatagram(ToDatagram(MakeEntry(Level::kInfo, fields)));

  EXPECT_EQ(variables.at("PENSTOCK_REASON"), "a\nPRIORITY=0\n");
  EXPECT_EQ(variables.at("PRIORITY"), "6");
}

TEST(ToPriorityTest, EachLevelHasThePriorityThatJournalctlFilters) {
  EXPECT_EQ(ToPriority(Level::kError), '3');
  EXPECT_EQ(ToPriority(Level::kWarning), '4');
  EXPECT_EQ(ToPriority(Level::kInfo), '6');
  EXPECT_EQ(ToPriority(Level::kDebug), '7');
}

// The journal's socket, and the stream of a service's standard error.
class JournalTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string folder = testing::TempDir() + "journal-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, stream_), 0);
  }
  void TearDown() override {
    for (const int fd : {stream_[0], stream_[1], socket_})
      if (fd >= 0) ::close(fd);
    std::filesystem::remove_all(folder_);
  }

  std::string socket_path() const { return folder_ + "/socket"; }
  void Listen() {
    socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
    std::strcpy(address.sun_path, socket_path().c_str());  // NOLINT: it fits, as bind checks
    ASSERT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  Journal::Options Options() const { return {.socket = socket_path(), .stream = stream_[0]}; }

  static std::string Receive(int from) {
    std::string text(1 << 20, '\0');
    const ssize_t got = ::recv(from, text.data(), text.size(), 0);
    text.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return text;
  }
  std::string Datagram() const { return Receive(socket_); }
  std::string Stream() const { return Receive(stream_[1]); }

  std::string folder_;
  int stream_[2] = {-1, -1};
  int socket_ = -1;
};

TEST_F(JournalTest, EntriesGoToTheSocketWithTheirFields) {
  Listen();
  Journal journal(Options());

  journal.Write(MakeEntry(Level::kError, {{"dataset", "flowers"}}));

  const auto variables = ParseDatagram(Datagram());
  EXPECT_EQ(variables.at("PENSTOCK_DATASET"), "flowers");
  EXPECT_EQ(variables.at("PRIORITY"), "3");
  EXPECT_EQ(Stream(), "");
}

TEST_F(JournalTest, TheLargestEntryFits) {
  Listen();
  Journal journal(Options());
  const auto fields = Bounded(std::vector<LogField>{{"reason", std::string(1 << 20, '\x01')}});
  const std::string message = FormatEvent("e", fields);

  journal.Write({.message = message, .event = "e", .fields = fields});

  EXPECT_THAT(ParseDatagram(Datagram()).at("PENSTOCK_REASON"), HasSubstr("bytes left out]"));
}

TEST_F(JournalTest, WithoutASocketLinesHaveTheirPriorityAsAPrefix) {
  Journal journal(Options());

  journal.Write(MakeEntry(Level::kWarning, {{"a", 1}}));

  EXPECT_EQ(Stream(), "<4>event=e a=1\n");
  EXPECT_EQ(journal.lost(), 0u);
}

TEST_F(JournalTest, AJournalThatDoesNotReadNeverBlocksAndTheNextLineSaysWhatIsMissing) {
  Listen();
  Journal journal(Options());
  for (int i = 0; i < 100'000 && journal.lost() < 3; ++i)
    journal.Write(MakeEntry(Level::kInfo, {{"i", i}}));
  ASSERT_EQ(journal.lost(), 3u);
  while (!Datagram().empty() || !Stream().empty()) continue;

  journal.Write(MakeEntry(Level::kInfo, {}));

  EXPECT_THAT(Datagram(), StartsWith("MESSAGE=event=e a=1\n"));
  const auto variables = ParseDatagram(Datagram());
  EXPECT_EQ(variables.at("PENSTOCK_EVENT"), "log_lines_lost");
  EXPECT_EQ(variables.at("PENSTOCK_LINES"), "3");
  EXPECT_EQ(Datagram(), "");
}

TEST_F(JournalTest, OnlyTheStreamThatTheServiceManagerNamesIsTheJournals) {
  struct stat facts = {};
  ASSERT_EQ(::fstat(stream_[0], &facts), 0);
  const std::string named = absl::StrCat(facts.st_dev, ":", facts.st_ino);

  EXPECT_TRUE(IsJournalStream(stream_[0], named.c_str()));
  EXPECT_FALSE(IsJournalStream(stream_[1], named.c_str()));  // redirected elsewhere
  EXPECT_FALSE(IsJournalStream(stream_[0], nullptr));
  EXPECT_FALSE(IsJournalStream(stream_[0], "8:1"));
}

}  // namespace
}  // namespace penstock::telemetry
