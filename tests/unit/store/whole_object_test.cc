// Small objects that are read whole, pinned by a hash of their ETag.
#include "server/store/client/whole_object.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace penstock::store {
namespace {

using ::testing::HasSubstr;

const Address kPhotograph = *ParseAddress("s3://bucket/cat/1.jpg");

TransferAnswer ToAnswer(uint64_t bytes, const std::string& etag) {
  TransferAnswer answer;
  answer.code = 200;
  answer.bytes = bytes;
  if (!etag.empty()) answer.headers.emplace_back("etag", etag);
  return answer;
}

absl::Status Check(const TransferAnswer& answer) {
  return CheckWholeObject(answer, kPhotograph, 100, PinOf("\"abc\""));
}

TEST(WholeObjectTest, APinIsOfWhatTheETagSaysHoweverItIsQuoted) {
  EXPECT_EQ(PinOf("\"abc\""), PinOf("abc"));
  EXPECT_EQ(PinOf("W/\"abc\""), PinOf("\"abc\""));
  EXPECT_NE(PinOf("\"abc\""), PinOf("\"abd\""));
  EXPECT_NE(PinOf("\"\""), 0u);
}

TEST(WholeObjectTest, TheVersionThatWasListedCounts) {
  EXPECT_TRUE(Check(ToAnswer(100, "\"abc\"")).ok());
}

TEST(WholeObjectTest, AnotherVersionIsDataLossWithTheName) {
  const absl::Status other = Check(ToAnswer(100, "\"xyz\""));
  EXPECT_TRUE(absl::IsDataLoss(other));
  EXPECT_THAT(std::string(other.message()),
              HasSubstr("'s3://bucket/cat/1.jpg' has changed since it was listed: its ETag"));
  TransferAnswer longer = ToAnswer(100, "\"xyz\"");  // the sink has refused more
  longer.status = absl::CancelledError("nobody takes the bytes");
  EXPECT_TRUE(absl::IsDataLoss(Check(longer)));
  TransferAnswer sized = ToAnswer(100, "\"abc\"");
  sized.headers.emplace_back("content-length", "101");
  EXPECT_THAT(std::string(Check(sized).message()), HasSubstr("its size was 100 and is 101"));
}

TEST(WholeObjectTest, AnAnswerThatEndsEarlyIsToBeTriedAgain) {
  EXPECT_TRUE(absl::IsUnavailable(Check(ToAnswer(99, "\"abc\""))));
  TransferAnswer away;
  away.status = absl::UnavailableError("no connection");
  EXPECT_TRUE(absl::IsUnavailable(Check(away)));
}

TEST(WholeObjectTest, AnAnswerWithoutAVersionIsRefused) {
  EXPECT_TRUE(absl::IsFailedPrecondition(Check(ToAnswer(100, ""))));
}

TEST(WholeObjectTest, AMissingObjectIsNamed) {
  TransferAnswer missing;
  missing.code = 404;
  EXPECT_TRUE(absl::IsNotFound(Check(missing)));
  EXPECT_THAT(std::string(Check(missing).message()), HasSubstr("cat/1.jpg"));
}

TEST(WholeObjectTest, MoreBytesThanThereIsRoomForEndTheTransfer) {
  std::vector<std::byte> into(5), sent(3);
  const TransferRequest request = ToWholeRequest(kPhotograph, {.endpoint = "http://h"}, into);

  EXPECT_EQ(request.url, "http://h/bucket/cat/1.jpg");
  EXPECT_FALSE(request.range);
  EXPECT_TRUE(request.sink(sent));
  EXPECT_FALSE(request.sink(sent));
}

}  // namespace
}  // namespace penstock::store
