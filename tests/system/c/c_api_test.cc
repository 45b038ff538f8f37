// The C API against a real daemon: the same batches as by the C++ client, and refusals in words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "client/include/penstock/c.h"
#include "client/include/penstock/penstock.h"
#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/trainer.h"

namespace penstock::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kImages = 60;

penstock_session_options CRows(const std::string& dataset) {
  penstock_session_options options{};
  options.struct_size = sizeof options;
  options.dataset = dataset.c_str();
  options.batch_size = 16;
  options.decode = PENSTOCK_RANDOM_RESIZED_CROP;
  options.height = options.width = 32;
  options.flip_probability = 0.5;
  options.seed = 7;
  options.epochs = 1;
  return options;
}

SessionOptions CppRows(const std::string& dataset) {
  SessionOptions options;
  options.dataset = dataset;
  options.batch_size = 16;
  options.random_crop = RandomResizedCrop{.height = 32, .width = 32};
  options.flip_probability = 0.5;
  options.seed = 7;
  options.epochs = 1;
  return options;
}

class CApiTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { daemon_ = new DaemonProcess({.workers = 2}); }
  static void TearDownTestSuite() { delete daemon_; }

  void SetUp() override {
    const std::string address = daemon_->address();
    penstock_client_options options{};
    options.struct_size = sizeof options;
    options.address = address.c_str();
    ASSERT_EQ(penstock_connect(&options, &client_, &error_), PENSTOCK_OK) << error_.message;
  }
  void TearDown() override { penstock_disconnect(client_); }

  penstock_session* Open(const penstock_session_options& options) {
    penstock_session* session = nullptr;
    EXPECT_EQ(penstock_open(client_, &options, &session, &error_), PENSTOCK_OK) << error_.message;
    return session;
  }
  penstock_batch* Next(penstock_session* session) {
    penstock_batch* batch = nullptr;
    EXPECT_EQ(penstock_next(session, PENSTOCK_DEFAULT_TIMEOUT, &batch, &error_), PENSTOCK_OK)
        << error_.message;
    return batch;
  }
  static penstock_batch_info Info(const penstock_batch* batch) {
    penstock_batch_info info{};
    info.struct_size = sizeof info;
    EXPECT_EQ(penstock_batch_get(batch, &info, nullptr), PENSTOCK_OK);
    return info;
  }
  // The session is refused as InvalidArgument; returns the message.
  std::string Refused(const penstock_session_options& options) {
    auto* session = reinterpret_cast<penstock_session*>(this);
    EXPECT_EQ(penstock_open(client_, &options, &session, &error_), PENSTOCK_INVALID_ARGUMENT);
    EXPECT_EQ(session, nullptr);
    EXPECT_EQ(error_.code, PENSTOCK_INVALID_ARGUMENT);
    return error_.message;
  }

  static DaemonProcess* daemon_;
  penstock_client* client_ = nullptr;
  penstock_error error_ = {};
  const std::string& photographs_ = Photographs(kImages);
};

DaemonProcess* CApiTest::daemon_ = nullptr;

TEST_F(CApiTest, AnEpochIsTheOneOfTheCppClient) {
  Client client = Client::Connect({.address = daemon_->address()}).OrDie();
  Session expected = client.Open(CppRows(photographs_)).OrDie();
  penstock_session* session = Open(CRows(photographs_));

  int batches = 0;
  while (Result<Batch> other = expected.Next()) {
    penstock_batch* batch = Next(session);
    ASSERT_NE(batch, nullptr);
    const penstock_batch_info info = Info(batch);
    EXPECT_EQ(info.step, other->step());
    EXPECT_EQ(info.first, other->first());
    EXPECT_EQ(info.valid_rows, other->valid_rows());
    ASSERT_EQ(info.rows, other->rows());
    ASSERT_EQ(info.image_bytes, other->images().size());
    EXPECT_EQ(std::memcmp(info.images, other->images().data(), info.image_bytes), 0);
    EXPECT_EQ(std::memcmp(info.labels, other->labels().data(), 8 * info.rows), 0);
    EXPECT_EQ(std::memcmp(info.sample_ids, other->sample_ids().data(), 8 * info.rows), 0);
    penstock_release(batch);
    ++batches;
  }

  EXPECT_EQ(batches, 4);
  penstock_batch* none = nullptr;
  EXPECT_EQ(penstock_next(session, 1000, &none, &error_), PENSTOCK_END_OF_EPOCH);
  EXPECT_EQ(penstock_next(session, 1000, &none, &error_), PENSTOCK_END_OF_DATA);
  EXPECT_EQ(none, nullptr);
  EXPECT_STREQ(penstock_code_name(error_.code), "end of data");
  penstock_close(session);
}

TEST_F(CApiTest, AFinishGivesTheFloatsOfTheCppClient) {
  Client client = Client::Connect({.address = daemon_->address()}).OrDie();
  Session other = client.Open(CppRows(photographs_)).OrDie();
  const Batch expected = other.Next().OrDie();
  std::vector<float> wanted(size_t{16} * 3 * 32 * 32), got(wanted.size()), streamed(wanted.size());
  const size_t bytes = wanted.size() * sizeof(float);
  Finish form{.mean = {0.1f, 0.2f, 0.3f}, .stddev = {0.5f, 0.6f, 0.7f}};
  ASSERT_TRUE(expected.FinishInto(form, wanted.data(), bytes).ok());
  penstock_finish finish{sizeof finish, 0, 0, {0.1f, 0.2f, 0.3f}, {0.5f, 0.6f, 0.7f}};
  int64_t labels[16] = {};
  penstock_into into{sizeof into, streamed.data(), bytes, labels, nullptr, 0};
  penstock_batch_info info{};
  info.struct_size = sizeof info;
  penstock_session* session = Open(CRows(photographs_));
  penstock_session* second = Open(CRows(photographs_));
  penstock_batch* batch = Next(session);

  EXPECT_EQ(penstock_finished_bytes(batch, &finish), bytes);
  EXPECT_EQ(penstock_finish_into(batch, &finish, got.data(), bytes, &error_), PENSTOCK_OK);
  EXPECT_EQ(penstock_next_into(second, &finish, &into, nullptr, 10'000, &info, &error_),
            PENSTOCK_OK);

  EXPECT_EQ(got, wanted);
  EXPECT_EQ(streamed, wanted);
  EXPECT_EQ(std::memcmp(labels, expected.labels().data(), sizeof labels), 0);
  EXPECT_EQ(info.rows, 16u);
  EXPECT_EQ(info.images, nullptr);  // released
  EXPECT_EQ(penstock_finish_into(batch, &finish, got.data(), 8, &error_),
            PENSTOCK_INVALID_ARGUMENT);
  penstock_release(batch);
  penstock_close(session);
  penstock_close(second);
}

TEST_F(CApiTest, ABatchOutlivesItsSessionAndClientAndIsEmptyOnceItIsReleased) {
  penstock_session* session = Open(CRows(photographs_));
  penstock_batch* batch = Next(session);
  penstock_disconnect(std::exchange(client_, nullptr));
  penstock_close(session);

  EXPECT_NE(Info(batch).images, nullptr);
  EXPECT_EQ(penstock_release_on_stream(batch, nullptr, &error_), PENSTOCK_OK);
  const penstock_batch_info released = Info(batch);
  EXPECT_EQ(released.images, nullptr);
  EXPECT_EQ(released.labels, nullptr);
  EXPECT_EQ(released.rows, 16u);
  EXPECT_EQ(penstock_release_on_stream(batch, nullptr, &error_), PENSTOCK_FAILED_PRECONDITION);
  penstock_tensor_view view{};
  view.struct_size = sizeof view;
  EXPECT_EQ(penstock_batch_tensor(batch, 0, &view, &error_), PENSTOCK_INVALID_ARGUMENT);
  penstock_release(batch);
}

TEST_F(CApiTest, AStateTravelsAsTextAndResumesWhereItWas) {
  penstock_session* session = Open(CRows(photographs_));
  penstock_release(Next(session));
  penstock_state state{}, read{};
  state.struct_size = read.struct_size = sizeof state;
  ASSERT_EQ(penstock_session_state(session, &state, &error_), PENSTOCK_OK);
  char text[160];
  ASSERT_EQ(penstock_state_to_text(&state, text, sizeof text, &error_), PENSTOCK_OK);
  ASSERT_EQ(penstock_state_from_text(text, &read, &error_), PENSTOCK_OK) << text;
  penstock_session_options options = CRows(photographs_);
  options.state = &read;
  penstock_session* resumed = Open(options);
  penstock_batch* batch = Next(resumed);

  EXPECT_EQ(read.consumed, 16u);
  EXPECT_EQ(Info(batch).first, 16u);
  EXPECT_EQ(penstock_state_to_text(&state, text, 10, &error_), PENSTOCK_INVALID_ARGUMENT);
  EXPECT_EQ(penstock_state_from_text("nonsense", &read, &error_), PENSTOCK_INVALID_ARGUMENT);
  penstock_release(batch);
  penstock_close(resumed);
  penstock_close(session);
}

TEST_F(CApiTest, ASessionAndADatasetDescribeThemselves) {
  penstock_session* session = Open(CRows(photographs_));
  penstock_session_info info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(penstock_session_get(session, &info, &error_), PENSTOCK_OK);
  penstock_tensor_info tensor{};
  tensor.struct_size = sizeof tensor;
  ASSERT_EQ(penstock_session_tensor(session, 0, &tensor, &error_), PENSTOCK_OK);
  penstock_dataset* dataset = nullptr;
  ASSERT_EQ(penstock_describe(client_, photographs_.c_str(), &dataset, &error_), PENSTOCK_OK);
  penstock_dataset_info described{};
  described.struct_size = sizeof described;
  ASSERT_EQ(penstock_dataset_get(dataset, &described, &error_), PENSTOCK_OK);

  EXPECT_EQ(info.samples, uint64_t{kImages});
  EXPECT_EQ(info.batches_in_epoch, 4u);
  EXPECT_EQ(info.delivery, PENSTOCK_DELIVERY_HOST);
  EXPECT_EQ(info.device, -1);
  EXPECT_STREQ(tensor.name, "image");
  EXPECT_EQ(tensor.type, PENSTOCK_UINT8);
  ASSERT_EQ(tensor.rank, 3u);
  EXPECT_EQ(tensor.shape[0], 32u);
  EXPECT_EQ(penstock_session_tensor(session, 99, &tensor, &error_), PENSTOCK_INVALID_ARGUMENT);
  EXPECT_EQ(described.samples, uint64_t{kImages});
  EXPECT_STREQ(described.kind, "folder");
  EXPECT_NE(penstock_dataset_class(dataset, 0), nullptr);
  EXPECT_EQ(penstock_dataset_class(dataset, described.classes), nullptr);
  penstock_dataset_free(dataset);
  penstock_close(session);
}

TEST_F(CApiTest, StatsSayWhoWaits) {
  penstock_session* session = Open(CRows(photographs_));
  penstock_release(Next(session));
  penstock_session_stats stats{};
  stats.struct_size = sizeof stats;

  ASSERT_EQ(penstock_session_stats_now(session, &stats, &error_), PENSTOCK_OK);

  EXPECT_EQ(stats.batches, 1u);
  EXPECT_EQ(stats.daemon_answered, 1);
  EXPECT_STRNE(stats.verdict, "");
  penstock_close(session);
}

TEST_F(CApiTest, OptionsThatWouldBeIgnoredAreRefused) {
  penstock_session_options options = CRows(photographs_);
  options.decode = PENSTOCK_DECODE_DEFAULT;
  EXPECT_THAT(Refused(options), HasSubstr("height and width need `decode`"));
  options = CRows(photographs_);
  options.resize = 40;
  EXPECT_THAT(Refused(options), HasSubstr("PENSTOCK_CENTER_CROP"));
  options = CRows(photographs_);
  options.given_count = 3;
  EXPECT_THAT(Refused(options), HasSubstr("PENSTOCK_GIVEN"));
  options = CRows(photographs_);
  options.order = 17;
  EXPECT_THAT(Refused(options), HasSubstr("order: got 17, expected 0 to 3"));
  options = CRows(photographs_);
  options.dataset = nullptr;
  EXPECT_THAT(Refused(options), HasSubstr("dataset is NULL"));
  options = CRows(photographs_);
  options.open_timeout_ms = -5;
  EXPECT_THAT(Refused(options), HasSubstr("open_timeout_ms: got -5"));
}

TEST_F(CApiTest, WhatTheDaemonRefusesArrivesWithItsCodeAndText) {
  penstock_session_options options = CRows(photographs_);
  options.dataset = "no-such-dataset";
  penstock_session* session = nullptr;

  EXPECT_EQ(penstock_open(client_, &options, &session, &error_), PENSTOCK_NOT_FOUND);

  EXPECT_EQ(error_.code, PENSTOCK_NOT_FOUND);
  EXPECT_THAT(error_.message, HasSubstr("no-such-dataset"));
  EXPECT_EQ(penstock_open(client_, &options, &session, nullptr), PENSTOCK_NOT_FOUND);
}

// A program that was compiled against a later header: its structs are longer.
struct LaterOptions {
  penstock_session_options known;
  uint64_t added;
};

TEST_F(CApiTest, AStructOfALaterVersionIsTakenUnlessItSaysWhatIsNotKnown) {
  LaterOptions later{CRows(photographs_), 0};
  later.known.struct_size = sizeof later;
  penstock_session* session = Open(later.known);
  EXPECT_NE(session, nullptr);
  penstock_close(session);

  later.added = 1;
  EXPECT_THAT(Refused(later.known), AllOf(HasSubstr("older than the program's header"),
                                          HasSubstr(std::to_string(sizeof later.known))));
}

TEST_F(CApiTest, AStructThatIsFilledIsNeverWrittenBeyondItsSize) {
  struct {
    penstock_state known;
    uint64_t added;
    uint64_t beyond;
  } later{{}, 5, 0xAA};
  later.known.struct_size = sizeof later.known + sizeof later.added;
  const char line[] = "epoch=1 consumed=2 seed=3 fingerprint=0000000000000004 quarantine_version=5";

  ASSERT_EQ(penstock_state_from_text(line, &later.known, &error_), PENSTOCK_OK) << error_.message;

  EXPECT_EQ(later.known.struct_size, sizeof later.known + sizeof later.added);
  EXPECT_EQ(later.known.quarantine_version, 5u);
  EXPECT_EQ(later.added, 0u);
  EXPECT_EQ(later.beyond, 0xAAu);
  for (const size_t size : {size_t{0}, sizeof later.known - 1, size_t{1} << 40}) {
    later.known.struct_size = size;
    EXPECT_EQ(penstock_state_from_text(line, &later.known, &error_), PENSTOCK_INVALID_ARGUMENT);
    EXPECT_THAT(error_.message, HasSubstr("set it to sizeof(penstock_state)"));
  }
}

TEST_F(CApiTest, AWaitEndsAtItsTimeout) {
  penstock_session_options options = CRows(photographs_);
  options.window = 1;
  penstock_session* session = Open(options);
  penstock_batch* held = Next(session);
  penstock_batch* next = nullptr;
  int32_t ready = -1;

  EXPECT_EQ(penstock_wait_ready(session, 50, &ready, &error_), PENSTOCK_OK) << error_.message;
  EXPECT_EQ(ready, 0);
  EXPECT_EQ(penstock_next(session, 50, &next, &error_), PENSTOCK_RESOURCE_EXHAUSTED);
  EXPECT_EQ(next, nullptr);
  EXPECT_EQ(penstock_next(session, -7, &next, &error_), PENSTOCK_INVALID_ARGUMENT);
  penstock_release(held);
  EXPECT_EQ(penstock_wait_ready(session, 10'000, &ready, &error_), PENSTOCK_OK);
  EXPECT_EQ(ready, 1);
  penstock_close(session);
}

TEST_F(CApiTest, AMessageThatIsTooLongIsCutAtTheEndOfACharacter) {
  std::string name;
  for (int i = 0; i < 700; ++i) name += "ü";
  penstock_session_options options = CRows(name);
  penstock_session* session = nullptr;

  EXPECT_NE(penstock_open(client_, &options, &session, &error_), PENSTOCK_OK);

  const std::string said = error_.message;
  EXPECT_LT(said.size(), sizeof error_.message);
  const auto last = static_cast<unsigned char>(said.back());
  EXPECT_TRUE(last < 0x80 || (said.size() >= 2 && last == 0xBC)) << said;
}

int Cancel(void* called) {
  ++*static_cast<std::atomic<int>*>(called);
  return 1;
}

TEST_F(CApiTest, AnInterruptCancelsACall) {
  std::atomic<int> called{0};
  const std::string address = daemon_->address();
  penstock_client_options options{};
  options.struct_size = sizeof options;
  options.address = address.c_str();
  options.interrupted = Cancel;
  options.interrupted_argument = &called;
  penstock_client* client = nullptr;
  ASSERT_EQ(penstock_connect(&options, &client, &error_), PENSTOCK_OK) << error_.message;
  daemon_->Signal(SIGSTOP);
  penstock_dataset* dataset = nullptr;

  const int32_t code = penstock_describe(client, photographs_.c_str(), &dataset, &error_);

  daemon_->Signal(SIGCONT);
  EXPECT_EQ(code, PENSTOCK_CANCELLED) << error_.message;
  EXPECT_GT(called, 0);
  penstock_disconnect(client);
}

}  // namespace
}  // namespace penstock::testing
