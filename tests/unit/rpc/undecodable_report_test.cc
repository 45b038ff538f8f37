// Reports of samples that a trainer's GPU could not decode.
#include "tests/unit/rpc/server_fixture.h"

namespace penstock::rpc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class UndecodableReportTest : public ServerTest {
 protected:
  grpc::Status Report(uint64_t session, const std::vector<uint64_t>& samples,
                      const std::string& ticket = kTicket) {
    v1::ReportUndecodableRequest request;
    v1::ReportUndecodableResponse response;
    request.set_session_id(session);
    request.mutable_samples()->Add(samples.begin(), samples.end());
    return feed_->ReportUndecodable(Context(ticket).get(), request, &response);
  }
};

TEST_F(UndecodableReportTest, ArrivesWithItsSamples) {
  EXPECT_TRUE(Report(42, {7, 5}).ok());

  EXPECT_THAT(controller_.undecodable(), ElementsAre(7, 5));
}

TEST_F(UndecodableReportTest, NeedsATicketASessionAndOneTo4096Samples) {
  const std::vector<uint64_t> too_many(4097, 1);

  EXPECT_EQ(Report(42, {7}, "").error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_THAT(Report(0, {7}).error_message(), HasSubstr("session_id is missing"));
  EXPECT_EQ(Report(42, {}).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Report(42, too_many).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Report(43, {7}).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_TRUE(controller_.undecodable().empty());
}

}  // namespace
}  // namespace penstock::rpc
