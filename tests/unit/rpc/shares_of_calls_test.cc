// What one user may have of calls, permits and unread responses.
#include <list>

#include "server/rpc/calls/calls.h"
#include "tests/unit/rpc/server_fixture.h"

namespace penstock::rpc {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kLarge = 100'000;

TEST(HoldAnswerTest, OneUsersUnreadResponsesLeaveRoomForOthers) {
  Calls calls({.at_once = 10, .answer_bytes = 5 * kLarge});
  CallUnderWay first(calls, 1000), second(calls, 1000), third(calls, 1000);
  CallUnderWay of_another(calls, 1001);
  EXPECT_TRUE(first.HoldAnswer(kLarge).ok());
  EXPECT_TRUE(second.HoldAnswer(kLarge).ok());

  const absl::Status refused = third.HoldAnswer(kLarge);

  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("has 100000 bytes, and this user's calls have not read 200000"));
  EXPECT_TRUE(of_another.HoldAnswer(kLarge).ok());
  first.Done();
  CallUnderWay later(calls, 1000);
  EXPECT_TRUE(later.HoldAnswer(kLarge).ok());
}

TEST(HoldAnswerTest, SmallResponsesAreNotCounted) {
  Calls calls({.at_once = 10, .answer_bytes = 1});
  CallUnderWay call(calls, 1000);
  EXPECT_TRUE(call.HoldAnswer(60'000).ok());
}

// Also if the refused ones stay for a while.
TEST(AdmitTest, OneUsersCallsLeaveRoomForOthers) {
  Calls calls({.at_once = 8});
  std::list<CallUnderWay> of_one;
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(of_one.emplace_back(calls, 1000).Admit().ok());
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(of_one.emplace_back(calls, 1000).Admit().code(),
              absl::StatusCode::kResourceExhausted);
  CallUnderWay of_another(calls, 1001);

  EXPECT_TRUE(of_another.Admit().ok());

  of_one.pop_front();
  of_another.Done();
  EXPECT_TRUE(of_one.emplace_back(calls, 1000).Admit().ok());
}

TEST(ReservationsTest, OneUsersPermitsLeaveRoomForOthers) {
  Reservations reservations(4);
  auto first = reservations.Take(1000), second = reservations.Take(1000);
  EXPECT_NE(second, nullptr);
  EXPECT_EQ(reservations.Take(1000), nullptr);
  EXPECT_NE(reservations.Take(1001), nullptr);
  first.reset();
  EXPECT_NE(reservations.Take(1000), nullptr);
}

class UnreadAnswersTest : public ServerTest {
 protected:
  // Asks for all that a response may have, some 100,000 bytes.
  grpc::Status Ask() {
    v1::DescribeSamplesRequest request;
    request.set_dataset("flowers");
    for (uint64_t id = 0; id < 4096; ++id) request.add_sample_ids(1'000'000'000 + id);
    v1::DescribeSamplesResponse response;
    grpc::Status status = feed_->DescribeSamples(Context().get(), request, &response);
    if (status.ok()) {
      EXPECT_GT(response.ByteSizeLong(), uint64_t{80'000});
    }
    return status;
  }
};

TEST_F(UnreadAnswersTest, ThoseThatAreReadAreForgotten) {
  Serve({.answer_bytes = 30 * kLarge});  // the last ones may be on their way
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(Ask().ok()) << i;
}

TEST_F(UnreadAnswersTest, OneThatIsTooLargeIsRefused) {
  Serve({.answer_bytes = kLarge});
  const grpc::Status refused = Ask();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), HasSubstr("ask for less at once"));
}

}  // namespace
}  // namespace penstock::rpc
