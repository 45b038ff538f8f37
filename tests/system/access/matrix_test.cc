// Calls every method of every service as each kind of caller, for each kind of dataset, and
// compares the results with expectations stated only in this file.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include "penstock/v1/admin.pb.h"
#include "penstock/v1/feed.pb.h"
#include "tests/system/access/node.h"

namespace penstock::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// gRPC status codes.
constexpr int kOk = 0, kInvalid = 3, kNotFound = 5, kDenied = 7, kWrongState = 9, kGone = 14,
              kNoTicket = 16;

// A caller and its properties.
struct Identity_ {
  std::string name;
  std::unique_ptr<CallerProcess> process;
  bool let_in = true;      // the socket it calls accepts it
  bool has_ticket = true;  // a ticket of its own user
  bool in_group = false;   // in the group's dataset's group
  bool is_operator = false;
  bool has_session = false;  // the session named in the calls
};

// What a method concerns, which decides who may call it.
enum class About {
  kNothing,           // anybody
  kTicket,            // anybody with a ticket
  kOwnDataset,        // members of the dataset's group with a ticket; operators have no privilege
  kDataset,           // members of the dataset's group, and operators
  kOperatorsDataset,  // operators
  kSession,           // the process that owns the session
  kClosing,           // the same; other callers get OK whether or not the session exists
  kSlabs,             // the same; this session has no slabs, so its owner gets FAILED_PRECONDITION
  kUndecoded,         // the same; it has no undecoded rows, so its owner gets INVALID_ARGUMENT
  kOperators,         // operators
};

struct Method {
  About about;
  std::string json;  // $D: the dataset, $S: the session
};

const std::map<std::string, Method>& Methods() {
  static const std::map<std::string, Method> methods = {
      {"FeedService.GetVersion", {About::kNothing, "{}"}},
      {"FeedService.DescribeDataset", {About::kOwnDataset, R"({"dataset":"$D"})"}},
      {"FeedService.DescribeSamples",
       {About::kOwnDataset, R"({"dataset":"$D","sample_ids":["0","1"]})"}},
      {"FeedService.SendOrder", {About::kTicket, R"({"length":"2","samples":["0","1"]})"}},
      {"FeedService.OpenSession", {About::kOwnDataset, OpenJson("$D")}},
      {"FeedService.ListSlabs", {About::kSlabs, R"({"session_id":"$S"})"}},
      {"FeedService.GetProgress", {About::kSession, R"({"session_id":"$S"})"}},
      {"FeedService.ReportUndecodable",
       {About::kUndecoded, R"({"session_id":"$S","samples":["0"]})"}},
      {"FeedService.CloseSession", {About::kClosing, R"({"session_id":"$S"})"}},
      {"AdminService.GetStatus", {About::kNothing, "{}"}},
      {"AdminService.ListSessions", {About::kNothing, "{}"}},
      {"AdminService.ListWorkers", {About::kNothing, "{}"}},
      {"AdminService.ListDatasets", {About::kNothing, "{}"}},
      {"AdminService.IndexDataset", {About::kDataset, R"({"dataset":"$D"})"}},
      {"AdminService.DigestDataset", {About::kDataset, R"({"dataset":"$D"})"}},
      {"AdminService.ListQuarantine", {About::kDataset, R"({"dataset":"$D"})"}},
      {"AdminService.ClearQuarantine", {About::kOperatorsDataset, R"({"dataset":"$D"})"}},
      {"AdminService.WatchStatus", {About::kNothing, "{}"}},
      {"AdminService.SetWorkers", {About::kOperators, R"({"count":1})"}},
      {"AdminService.Drain", {About::kOperators, R"({"cancel":true})"}},
      {"AdminService.Reload", {About::kOperators, "{}"}},
      {"AdminService.GetTrace", {About::kNothing, R"({"duration_ms":100})"}},
  };
  return methods;
}

int Expected(About about, const Identity_& who, const std::string& dataset) {
  if (!who.let_in) return kGone;
  const bool exists = dataset != "nothing", open = dataset == "flowers";
  switch (about) {
    case About::kNothing:
      return kOk;
    case About::kTicket:
      return who.has_ticket ? kOk : kNoTicket;
    case About::kOwnDataset:
      if (!who.has_ticket) return kNoTicket;
      return exists && (open || who.in_group) ? kOk : kNotFound;
    case About::kDataset:
      return exists && (open || who.in_group || who.is_operator) ? kOk : kNotFound;
    case About::kOperatorsDataset:
      if (!who.is_operator) return kDenied;
      return exists ? kOk : kNotFound;
    case About::kSession:
    case About::kSlabs:
    case About::kUndecoded:
      if (!who.has_ticket) return kNoTicket;
      if (!who.has_session) return kNotFound;
      if (about == About::kUndecoded) return kInvalid;
      return about == About::kSlabs ? kWrongState : kOk;
    case About::kClosing:
      return who.has_ticket ? kOk : kNoTicket;
    case About::kOperators:
      return who.is_operator ? kOk : kDenied;
  }
  return -1;
}

std::string Put(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

class MatrixTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    node_ = std::make_unique<Node>(Node::Options{});
    owner_ = node_->Trainer(kMember);
    OpenSecretSession();
    Add({.name = "a member",
         .process = node_->Trainer({.user = 54331, .groups = {kSocketGroup, kSecretGroup}}),
         .in_group = true});
    Add({.name = "an outsider", .process = node_->Trainer(kOutsider)});
    Add({.name = "an outsider without a ticket",
         .process = At(node_->address(), kOutsider),
         .has_ticket = false});
    auto thief = At(node_->address(), kOutsider);
    thief->Take(owner_->Ticket());
    Add({.name = "an outsider with the owner's ticket",
         .process = std::move(thief),
         .has_ticket = false});
    Add({.name = "root at the trainers' socket", .process = node_->Trainer(kRoot)});
    Add({.name = "the daemon's user at the trainers' socket",
         .process = node_->Trainer({.user = kDaemonUser, .groups = {kSocketGroup}})});
    Add({.name = "an admin at the trainers' socket",
         .process = node_->Trainer({.user = kAdminUser, .groups = {kSocketGroup}})});
    Add({.name = "a member at the operators' socket",
         .process = At(node_->admin_address(), kMember),
         .let_in = false});
    Add({.name = "root as an operator",
         .process = std::make_unique<CallerProcess>(node_->admin_address(), node_->door(), kRoot),
         .is_operator = true});
    Add({.name = "the daemon's user as an operator",
         .process = At(node_->admin_address(), {.user = kDaemonUser}),
         .has_ticket = false,
         .is_operator = true});
    Add({.name = "an admin",
         .process = At(node_->admin_address(), kAdmin),
         .has_ticket = false,
         .is_operator = true});
    Add({.name = "another process of the owner's user",
         .process = node_->Trainer(kMember),
         .in_group = true});
    Add({.name = "the owner",
         .process = std::move(owner_),
         .in_group = true,
         .has_session = true});  // last, because it closes the session
  }

  std::unique_ptr<CallerProcess> At(const std::string& address, const Identity& as) {
    return std::make_unique<CallerProcess>(address, "", as);
  }
  void Add(Identity_ who) { everybody_.push_back(std::move(who)); }

  // Batches of 13 include the bad sample, so that the quarantine has an entry.
  void OpenSecretSession() {
    const auto opened = owner_->Call("penstock.v1.FeedService.OpenSession",
                                     Put(OpenJson("secret-set"), ":4,", ":13,"));
    ASSERT_EQ(opened.code, kOk) << opened.text;
    const size_t at = opened.text.find("session_id\":\"") + 13;
    session_ = opened.text.substr(at, opened.text.find('"', at) - at);
    ASSERT_TRUE(
        node_->daemon().Eventually([&] { return node_->daemon().Status().quarantined() > 0; }));
  }

  CallerProcess::Answer Ask(const Identity_& who, const std::string& method,
                            const std::string& dataset) {
    const std::string json = Put(Put(Methods().at(method).json, "$D", dataset), "$S", session_);
    return who.process->Call("penstock.v1." + method, json);
  }

  std::unique_ptr<Node> node_;
  std::unique_ptr<CallerProcess> owner_;
  std::string session_;
  std::vector<Identity_> everybody_;
};

std::vector<std::string> AllMethods() {
  std::vector<std::string> names;
  for (const auto* file :
       {v1::GetVersionRequest::descriptor()->file(), v1::GetStatusRequest::descriptor()->file()})
    for (int i = 0; i < file->service_count(); ++i)
      for (int j = 0; j < file->service(i)->method_count(); ++j)
        names.push_back(file->service(i)->name() + "." + file->service(i)->method(j)->name());
  return names;
}

TEST_F(MatrixTest, EachCallIsServedOrRefusedAsItsCallerAndItsObjectSay) {
  for (const std::string& method : AllMethods()) {
    ASSERT_TRUE(Methods().contains(method)) << "who may call " << method << "? Say it in this test";
    const About about = Methods().at(method).about;
    for (const Identity_& who : everybody_)
      for (const char* dataset : {"flowers", "secret-set", "nothing"}) {
        // Only the owner may close the session, and only once.
        if (method == "FeedService.CloseSession" && who.has_session && dataset[0] != 'n') continue;
        const CallerProcess::Answer answer = Ask(who, method, dataset);
        EXPECT_EQ(answer.code, Expected(about, who, dataset))
            << method << " by " << who.name << " on " << dataset << ": " << answer.text;
      }
  }
}

TEST_F(MatrixTest, WhoMayNotOpenADatasetLearnsNothingOfItNotEvenThatItIsThere) {
  const std::string owner_user = "\"user_id\":" + std::to_string(kMemberUser);
  for (const std::string& method : AllMethods())
    for (const Identity_& who : everybody_) {
      if (who.in_group || who.is_operator || !who.let_in) continue;
      const std::string secret = Ask(who, method, "secret-set").text;
      const std::string absent = Ask(who, method, "nothing").text;
      EXPECT_THAT(secret, Not(HasSubstr(kToken))) << method << " by " << who.name;
      EXPECT_THAT(absent, Not(HasSubstr("secret-set"))) << method << " by " << who.name;
      EXPECT_THAT(absent, Not(HasSubstr(owner_user))) << method << " by " << who.name;
      if (Methods().at(method).json.find("$D") != std::string::npos) {
        EXPECT_EQ(Put(secret, "secret-set", "nothing"), absent) << method << " by " << who.name;
      }
    }
}

// Session numbers can be guessed.
TEST_F(MatrixTest, WhoseSessionItIsNotCannotTellWhetherThereIsOne) {
  const std::string absent = std::to_string(std::stoull(session_) + 1'000'000);
  for (const std::string& method : AllMethods()) {
    if (Methods().at(method).json.find("$S") == std::string::npos) continue;
    for (const Identity_& who : everybody_) {
      if (who.has_session || !who.let_in) continue;
      const std::string name = "penstock.v1." + method;
      const auto ask = [&](const std::string& session) {
        return who.process->Call(name, Put(Methods().at(method).json, "$S", session));
      };
      const CallerProcess::Answer theirs = ask(session_), nobodys = ask(absent);
      EXPECT_EQ(theirs.code, nobodys.code) << method << " by " << who.name;
      EXPECT_EQ(Put(theirs.text, session_, "N"), Put(nobodys.text, absent, "N"))
          << method << " by " << who.name;
    }
  }
  EXPECT_EQ(
      everybody_.back()
          .process
          ->Call("penstock.v1.FeedService.GetProgress", R"({"session_id":")" + session_ + R"("})")
          .code,
      kOk)
      << "it is still there";
}

TEST_F(MatrixTest, WhoMaySeeADatasetDoes) {
  for (const Identity_& who : everybody_) {
    if (!who.in_group && !who.is_operator) continue;
    EXPECT_THAT(Ask(who, "AdminService.ListDatasets", "").text, HasSubstr(kToken)) << who.name;
    EXPECT_THAT(Ask(who, "AdminService.ListQuarantine", "").text,
                HasSubstr(std::string("broken-") + kToken))
        << who.name;
  }
}

}  // namespace
}  // namespace penstock::testing
