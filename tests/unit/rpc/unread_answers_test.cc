// Responses that clients do not read: whose they are, and how many bytes are too many.
#include "server/rpc/calls/calls.h"
#include "tests/unit/rpc/server_fixture.h"

namespace penstock::rpc {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kLarge = 100'000;

TEST(HoldAnswerTest, OneUsersUnreadResponsesLeaveRoomForOthers) {
  Calls calls({.at_once = 10, .answer_bytes = 5 * kLarge});
  CallUnderWay first(calls), second(calls), third(calls), of_another(calls);
  EXPECT_TRUE(first.HoldAnswer(1000, kLarge).ok());
  EXPECT_TRUE(second.HoldAnswer(1000, kLarge).ok());

  const absl::Status refused = third.HoldAnswer(1000, kLarge);

  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("has 100000 bytes, and this user's calls have not read 200000"));
  EXPECT_TRUE(of_another.HoldAnswer(1001, kLarge).ok());
  first.Done();
  CallUnderWay later(calls);
  EXPECT_TRUE(later.HoldAnswer(1000, kLarge).ok());
}

TEST(HoldAnswerTest, SmallResponsesAreNotCounted) {
  Calls calls({.at_once = 10, .answer_bytes = 1});
  CallUnderWay call(calls);
  EXPECT_TRUE(call.HoldAnswer(1000, 60'000).ok());
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
  Serve({.answer_bytes = 4 * kLarge});
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(Ask().ok()) << i;
}

TEST_F(UnreadAnswersTest, OneThatIsTooLargeIsRefused) {
  Serve({.answer_bytes = kLarge});
  const grpc::Status refused = Ask();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), HasSubstr("ask for less at once"));
}

}  // namespace
}  // namespace penstock::rpc
