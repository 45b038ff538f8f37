// Addresses of nodes, their names, and the row of each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "client/ctl/command_line.h"
#include "client/ctl/nodes/node_address.h"
#include "client/ctl/nodes/nodes_view.h"
#include "client/ctl/nodes/resolve.h"
#include "client/ctl/nodes/top_nodes.h"

namespace penstock::ctl {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(NodeAddressTest, IsAHostAndAPort) {
  EXPECT_EQ(ParseNodeAddress("node1:7070")->host, "node1");
  EXPECT_EQ(ParseNodeAddress("node1:7070")->port, 7070);
  EXPECT_EQ(ParseNodeAddress("[fd00::3]:1")->host, "fd00::3");
  EXPECT_EQ(ParseNodeAddress("[fd00::3]:1")->ToString(), "[fd00::3]:1");
  for (const char* wrong : {"", "node1", "node1:", ":7070", "node1:0", "node1:65536", "node1:-1",
                            "node1:70x", "a b:1", "[node1]:1", "fd00::3:1", "node1:99999999999"})
    EXPECT_THAT(std::string(ParseNodeAddress(wrong).status().message()),
                HasSubstr("expected a node and its port"))
        << wrong;
}

TEST(NodeAddressTest, IsToldFromASocketsPath) {
  EXPECT_TRUE(IsNodeAddress("node1:7070"));
  for (const char* path :
       {"", "/run/penstock/penstock.sock", "unix:/run/x", "/a:1", "penstock.sock"})
    EXPECT_FALSE(IsNodeAddress(path)) << path;
}

TEST(NodeAddressTest, AListHasNoEmptyMembersAndALimit) {
  EXPECT_EQ(ParseNodes("a:1,b:2")->size(), 2u);
  EXPECT_FALSE(ParseNodes("a:1,").ok());
  std::string many = "a:1";
  for (size_t i = 1; i < kMostNodes; ++i) many += ",a:1";
  EXPECT_TRUE(ParseNodes(many).ok());
  EXPECT_THAT(std::string(ParseNodes(many + ",a:1").status().message()), HasSubstr("at most 1024"));
}

TEST(NodeAddressTest, TheCommandLineRefusesWhatCannotBe) {
  EXPECT_EQ(ParseCommandLine({"top", "--all", "a:1"})->nodes, "a:1");
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{"top", "--all", "a"},
                                             {"top", "--all", "a:1", "--address", "b:1"},
                                             {"status", "--all", "a:1"},
                                             {"status", "--address", "a:0"},
                                             {"check", "--address", "a:1"}})
    EXPECT_TRUE(absl::IsInvalidArgument(ParseCommandLine(wrong).status())) << wrong.back();
}

TEST(ResolveTest, NumbersAreTheirOwnNamesAndWhatIsNoNameSaysSo) {
  const auto found =
      Resolve({{"127.0.0.1", 7}, {"no-such-node.invalid", 8}}, std::chrono::seconds(5));

  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].target, "ipv4:127.0.0.1:7");
  EXPECT_EQ(found[0].shown, "127.0.0.1:7");
  EXPECT_EQ(found[0].host, "127.0.0.1");
  EXPECT_TRUE(found[0].trouble.ok());
  EXPECT_THAT(std::string(found[1].trouble.message()), HasSubstr("does not resolve"));
}

TEST(ResolveTest, WithoutTimeNothingIsResolved) {
  const auto found = Resolve({{"no-such-node.invalid", 8}}, base::Duration::zero());

  ASSERT_EQ(found.size(), 1u);
  EXPECT_FALSE(found[0].trouble.ok());
}

NodeAnswer Answer(uint64_t uptime_ms, uint64_t samples) {
  NodeAnswer answer;
  answer.status.set_serving(true);
  answer.status.set_uptime_ms(uptime_ms);
  answer.status.set_samples_decoded(samples);
  answer.status.set_sessions(2);
  answer.status.set_workers(4);
  answer.status.set_workers_running(3);
  for (const double starved : {0.1, 0.4}) {
    v1::FeedStatus& feed = *answer.status.add_feeds();
    feed.set_dataset(starved > 0.2 ? "flowers" : "birds");
    feed.set_sessions(1);
    feed.set_starved(starved);
    feed.set_verdict("the store is the bottleneck");
  }
  answer.sessions.add_sessions()->set_state("source stalled for 12 s: gone");
  answer.sessions.add_sessions()->set_state("running");
  return answer;
}

TEST(NodesViewTest, ARowHasRateWaitWorkersStallsAndTheVerdictOfTheFeedThatWaitsMost) {
  const std::string text =
      ShowNodes(ToNodesStatus({"node1:7070"}, {Answer(3000, 900)}, {Answer(1000, 500)}));

  EXPECT_THAT(text,
              AllOf(HasSubstr("node1:7070"), HasSubstr("200"), HasSubstr("40 %"), HasSubstr("3/4"),
                    HasSubstr("flowers of root: the store is the bottleneck"),
                    HasSubstr("1 of 1 nodes answer")));
  EXPECT_EQ(ToNodesStatus({"n"}, {Answer(3, 9)}, {}).nodes(0).sessions_stalled(), 1u);
}

TEST(NodesViewTest, ADaemonThatWasRestartedHasNoRateYet) {
  const auto rate = [](const NodeAnswer& before, const NodeAnswer& now) {
    return ToNodesStatus({"n"}, {now}, {before}).nodes(0).samples_per_second();
  };

  EXPECT_EQ(rate(Answer(9000, 900), Answer(100, 10)), 0);
  EXPECT_EQ(rate(Answer(100, 900), Answer(200, 10)), 0);
  EXPECT_EQ(rate({.trouble = absl::UnavailableError("gone")}, Answer(200, 10)), 0);
  EXPECT_EQ(rate(Answer(100, 0), Answer(200, 10)), 100);
}

TEST(NodesViewTest, ANodeThatIsNotThereIsARowThatSaysSo) {
  const NodeAnswer gone = {.trouble = absl::UnavailableError("connection\nrefused")};

  const std::string text = ShowNodes(ToNodesStatus({"a:1", "b:2"}, {gone, Answer(3, 9)}, {}));

  EXPECT_THAT(text, AllOf(HasSubstr("UNREACHABLE"), HasSubstr("connection?refused"),
                          HasSubstr("1 of 2 nodes answer")));
}

class FakeNodes final : public NodeCalls {
 public:
  explicit FakeNodes(std::vector<std::vector<NodeAnswer>> answers) : answers_(std::move(answers)) {
    endpoints_.resize(answers_.front().size());
  }
  const std::vector<NodeEndpoint>& endpoints() const override { return endpoints_; }
  std::vector<NodeAnswer> AskAll(base::Duration) override { return answers_[asked_++]; }

 private:
  std::vector<NodeEndpoint> endpoints_;
  const std::vector<std::vector<NodeAnswer>> answers_;
  size_t asked_ = 0;
};

TEST(TopNodesTest, ItHasFailedOnlyIfNoNodeAnswers) {
  const NodeAnswer gone = {.trouble = absl::UnavailableError("gone")}, here = Answer(1, 1);
  const auto code = [](const std::vector<NodeAnswer>& last) {
    FakeNodes nodes({last, last});
    std::ostringstream out;
    return TopNodesOnce(nodes, Output::kTable, Colors::kNo, base::Duration::zero(), out);
  };

  EXPECT_EQ(code({gone, here}), 0);
  EXPECT_EQ(code({gone, gone}), 1);
}

}  // namespace
}  // namespace penstock::ctl
