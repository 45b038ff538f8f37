// The list of methods and their access rules, tested as rules and on a real server's two sockets.
#include "server/rpc/access/access.h"

#include <google/protobuf/descriptor.h>

#include <future>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "tests/unit/rpc/server_fixture.h"

namespace penstock::rpc {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(AccessRuleTest, OverTcpOperatorsOnlyLook) {
  std::set<std::string> found;
  for (const AccessRule& rule : AccessRules()) {
    if (rule.reach != Reach::kAlsoOverTls || !absl::StartsWith(rule.method, "penstock.")) continue;
    found.insert(std::string(rule.method.substr(std::string("penstock.v1.").size())));
    EXPECT_FALSE(rule.is_action) << rule.method;
    EXPECT_EQ(rule.who, Who::kAnyone) << rule.method;
  }
  EXPECT_EQ(found,
            (std::set<std::string>{"AdminService.GetStatus", "AdminService.ListDatasets",
                                   "AdminService.ListQuarantine", "AdminService.ListSessions",
                                   "AdminService.ListWorkers", "AdminService.WatchStatus"}));
}

const google::protobuf::DescriptorPool& Contract() {
  v1::GetVersionRequest::descriptor();
  v1::GetStatusRequest::descriptor();
  return *google::protobuf::DescriptorPool::generated_pool();
}

// grpc.reflection.v1alpha: ServerReflectionRequest.list_services is field 7.
std::set<std::string> ServicesOf(const std::string& answer) {
  std::set<std::string> found;
  for (size_t at = answer.find("penstock."); at != std::string::npos;
       at = answer.find("penstock.", at + 1))
    found.insert(answer.substr(at, static_cast<unsigned char>(answer[at - 1])));
  return found;
}

class AccessTest : public ServerTest {
 protected:
  // Like a system's daemon, gives operators their own socket.
  void ServeBoth(const Admins& admins = {}) {
    server_.reset();
    const std::string operators = directory_ + "/operators";
    server_ = Server::Start({.trainers = *posix::Listen(path_, posix::SocketKind::kStream),
                             .operators = *posix::Listen(operators, posix::SocketKind::kStream)},
                            controller_, {.admins = admins, .operators_path = operators})
                  .value();
    at_trainers_ = StubAt(path_);
    at_operators_ = StubAt(operators);
  }
  static std::unique_ptr<v1::AdminService::Stub> StubAt(const std::string& path) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return v1::AdminService::NewStub(
        grpc::CreateCustomChannel("unix:" + path, grpc::InsecureChannelCredentials(), arguments));
  }
  static grpc::Status SetWorkers(v1::AdminService::Stub& stub) {
    v1::SetWorkersRequest request;
    request.set_count(3);
    v1::SetWorkersResponse response;
    return stub.SetWorkers(Context("").get(), request, &response);
  }

  std::unique_ptr<v1::AdminService::Stub> at_trainers_, at_operators_;
};

TEST_F(AccessTest, EveryMethodOfEveryServiceThatIsServedHasARule) {
  const std::set<std::string> services = ServicesOf(
      Call("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", "\x3a\x01*"));
  ASSERT_THAT(services, ::testing::SizeIs(2));

  for (const std::string& name : services) {
    const auto* service = Contract().FindServiceByName(name);
    ASSERT_NE(service, nullptr) << name;
    for (int i = 0; i < service->method_count(); ++i)
      EXPECT_NE(FindRule(service->method(i)->full_name()), nullptr)
          << service->method(i)->full_name() << " has no rule in server/rpc/access/access.cc";
  }
}

TEST_F(AccessTest, EveryRuleOfOursIsOfAMethodThatIsThere) {
  for (const AccessRule& rule : AccessRules()) {
    const std::string method(rule.method);
    if (method.rfind("penstock.", 0) == 0) {
      EXPECT_NE(Contract().FindMethodByName(method), nullptr) << method;
    }
  }
}

TEST_F(AccessTest, WhatNoRuleNamesIsForNobody) {
  EXPECT_EQ(FindRule("penstock.v1.AdminService.DropEverything"), nullptr);
}

TEST_F(AccessTest, AtTheTrainersSocketNobodyIsAnOperatorAndIsToldWhereToCall) {
  ServeBoth();

  const grpc::Status refused = SetWorkers(*at_trainers_);

  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(refused.error_message(), AllOf(HasSubstr("SetWorkers"), HasSubstr("for operators"),
                                             HasSubstr(directory_ + "/operators")));
  EXPECT_TRUE(SetWorkers(*at_operators_).ok());
}

TEST_F(AccessTest, APrivateDaemonsOwnUserIsItsOperatorAtItsOneSocket) {
  EXPECT_TRUE(SetWorkers(*admin_).ok());
}

TEST_F(AccessTest, RefusalsAndOperatorsActionsAreCountedByMethod) {
  ServeBoth();
  v1::GetStatusResponse status;

  SetWorkers(*at_trainers_);
  SetWorkers(*at_trainers_);
  SetWorkers(*at_operators_);
  at_operators_->GetStatus(Context("").get(), {}, &status);
  at_trainers_->GetStatus(Context("").get(), {}, &status);

  const Audit::Counts counts = server_->audited();
  EXPECT_THAT(counts.refused,
              ::testing::ElementsAre(Pair(Pair("AdminService.SetWorkers", "not_operator"), 2)));
  EXPECT_THAT(counts.acted, ::testing::ElementsAre(Pair("AdminService.SetWorkers", 1)));
}

TEST_F(AccessTest, ACallWithoutATicketIsCountedAsRefused) {
  Open(GoodRequest("flowers"), "");

  EXPECT_THAT(server_->audited().refused,
              ::testing::ElementsAre(Pair(Pair("FeedService.OpenSession", "no_ticket"), 1)));
}

// gRPC alone would call the method unknown.
TEST_F(AccessTest, ARequestThatCannotBeReadIsRefusedInWordsAndCounted) {
  const grpc::Status answer = Open(GoodRequest("caf\xe9"));

  EXPECT_EQ(answer.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(answer.error_message(), ::testing::HasSubstr("text that is not UTF-8"));
  EXPECT_TRUE(controller_.opened().empty());
  EXPECT_THAT(server_->audited().refused,
              ::testing::ElementsAre(Pair(Pair("FeedService.OpenSession", "bad_request"), 1)));
}

TEST_F(AccessTest, AMethodOfAnotherVersionStaysUnimplemented) {
  for (const char* method : {"/penstock.v1.FeedService/Nothing", "/other.Service/Method"}) {
    grpc::ClientContext context;
    grpc::ByteBuffer answer;
    grpc::Slice nothing;
    grpc::GenericStub stub(channel_);
    grpc::Status status;
    std::promise<void> ended;
    const grpc::ByteBuffer request(&nothing, 1);
    stub.UnaryCall(&context, method, {}, &request, &answer, [&](grpc::Status how) {
      status = std::move(how);
      ended.set_value();
    });
    ended.get_future().wait();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED) << method;
  }
  EXPECT_TRUE(server_->audited().refused.empty());
}

TEST(AuditTest, WhatIsNoRefusalIsNotCountedAsOne) {
  const AccessRule* close = FindRule("penstock.v1.FeedService.CloseSession");

  EXPECT_FALSE(Audit::ToRefusal(absl::OkStatus(), close));
  EXPECT_FALSE(Audit::ToRefusal(absl::NotFoundError("no such session"), close));
  EXPECT_FALSE(Audit::ToRefusal(absl::CancelledError(), close));
  EXPECT_EQ(Audit::ToRefusal(absl::PermissionDeniedError(""), close), Refusal::kNotOwner);
  EXPECT_EQ(Audit::ToRefusal(absl::ResourceExhaustedError(""), close), Refusal::kLimit);
  EXPECT_EQ(Audit::ToRefusal(Refused(absl::NotFoundError("none"), Refusal::kNotInGroup), close),
            Refusal::kNotInGroup);
}

TEST(AuditTest, AFileThatTheDaemonMayNotReadIsNotTheCallersGroup) {
  const AccessRule* open = FindRule("penstock.v1.FeedService.OpenSession");
  EXPECT_EQ(Audit::ToRefusal(absl::PermissionDeniedError("'/data/a': Permission denied"), open),
            Refusal::kFailed);
}

TEST(AuditTest, EveryOtherErrorIsARefusalWithAReason) {
  const AccessRule* open = FindRule("penstock.v1.FeedService.OpenSession");

  EXPECT_EQ(Audit::ToRefusal(absl::NotFoundError(""), open), Refusal::kNotFound);
  EXPECT_EQ(Audit::ToRefusal(absl::InvalidArgumentError(""), open), Refusal::kBadRequest);
  EXPECT_EQ(Audit::ToRefusal(absl::UnavailableError("it drains"), open), Refusal::kNotNow);
  EXPECT_EQ(Audit::ToRefusal(absl::FailedPreconditionError(""), open), Refusal::kNotNow);
  EXPECT_EQ(Audit::ToRefusal(absl::DataLossError(""), open), Refusal::kFailed);
  EXPECT_EQ(Audit::ToRefusal(absl::InternalError(""), open), Refusal::kFailed);
}

TEST(AuditTest, AnOperatorsActionThatIsRefusedIsCountedAsBoth) {
  Audit audit;

  audit.Act({}, "penstock.v1.AdminService.Reload", {"what", ""}, absl::FailedPreconditionError(""));
  audit.Act({}, "penstock.v1.AdminService.Reload", {"what", ""}, absl::OkStatus());

  EXPECT_THAT(audit.counts().refused,
              ::testing::ElementsAre(Pair(Pair("AdminService.Reload", "not_now"), 1)));
  EXPECT_THAT(audit.counts().acted, ::testing::ElementsAre(Pair("AdminService.Reload", 2)));
}

}  // namespace
}  // namespace penstock::rpc
