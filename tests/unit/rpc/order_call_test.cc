// Clients send orders of samples message by message.
#include <limits>

#include "tests/unit/rpc/server_fixture.h"

namespace penstock::rpc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class OrderCallTest : public ServerTest {
 protected:
  using Part = std::vector<uint64_t>;
  // Sends these parts. The first has a length unless `length` is 0.
  grpc::Status Send(uint64_t length, const std::vector<Part>& parts,
                    const std::string& ticket = kTicket) {
    const auto context = Context(ticket);
    const auto writer = feed_->SendOrder(context.get(), &sent_);
    for (const Part& part : parts) {
      v1::SendOrderRequest message;
      if (&part == &parts.front()) message.set_length(length);
      message.mutable_samples()->Add(part.begin(), part.end());
      if (!writer->Write(message)) break;
    }
    writer->WritesDone();
    return writer->Finish();
  }

  v1::SendOrderResponse sent_;
};

TEST_F(OrderCallTest, WithoutATicketNothingComesIn) {
  EXPECT_EQ(Send(1, {{1}}, "").error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_TRUE(controller_.ordered().empty());
}

TEST_F(OrderCallTest, AnOrderWithoutALengthIsRefused) {
  const grpc::Status status = Send(0, {{1, 2}});

  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("length is missing"));
}

TEST_F(OrderCallTest, AnOrderWithoutAMessageIsRefused) {
  EXPECT_EQ(Send(1, {}).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(OrderCallTest, TheControllersRefusalEndsTheCallBeforeAllHasCome) {
  const std::vector<Part> many(100, Part(1000, 7));

  const grpc::Status status = Send(1'000'001, many);

  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(status.error_message(), "at most 1000000 samples");
  EXPECT_TRUE(controller_.ordered().empty());
}

TEST_F(OrderCallTest, AMessageWithTooManySamplesIsRefusedAndTheOrderForgotten) {
  const grpc::Status status = Send(70'000, {Part(65'537, 7)});

  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("at most 65536 in one message, got 65537"));
  EXPECT_TRUE(WaitFor([&] { return controller_.orders_dropped() == 1; }));
}

TEST_F(OrderCallTest, AClientThatGoesInTheMiddleLeavesNothing) {
  {
    const auto context = Context();
    const auto writer = feed_->SendOrder(context.get(), &sent_);
    v1::SendOrderRequest message;
    message.set_length(10);
    message.add_samples(1);
    ASSERT_TRUE(writer->Write(message));
    ASSERT_TRUE(WaitFor([&] { return !controller_.ordered().empty(); }));
    context->TryCancel();
    (void)writer->Finish();
  }

  EXPECT_TRUE(WaitFor([&] { return controller_.orders_dropped() + controller_.orders() == 1; }));
}

TEST_F(OrderCallTest, PartsComeInOrderAndTheNameComesBack) {
  const grpc::Status status = Send(4, {{5, 5}, {}, {std::numeric_limits<uint64_t>::max()}, {0}});

  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_THAT(controller_.ordered(), ElementsAre(5, 5, std::numeric_limits<uint64_t>::max(), 0));
  EXPECT_EQ(sent_.order(), 0xabcu);
}

TEST_F(OrderCallTest, AsManySamplesAsAMessageMayHaveFitIntoOne) {
  constexpr uint64_t kLongest = std::numeric_limits<uint64_t>::max();  // encoded as ten bytes

  EXPECT_TRUE(Send(15 * 65'536, std::vector<Part>(15, Part(65'536, kLongest))).ok());

  EXPECT_EQ(controller_.ordered().size(), 15u * 65'536);
}

}  // namespace
}  // namespace penstock::rpc
