// The C API against a real daemon: the same batches as by the C++ client.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "client/include/penstock/penstock.h"
#include "tests/system/c/c_fixture.h"

namespace penstock::testing {
namespace {

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

TEST_F(CApiTest, InHostMemoryTheCallsForStreamsDoTheSame) {
  penstock_session* session = Open(CRows(photographs_));
  penstock_session* other = Open(CRows(photographs_));
  penstock_batch* expected = Next(session);
  penstock_batch* batch = nullptr;
  ASSERT_EQ(penstock_next_on_stream(other, nullptr, 10'000, &batch, &error_), PENSTOCK_OK);
  const penstock_finish finish{sizeof finish, PENSTOCK_UINT8, PENSTOCK_NHWC, {}, {}};
  std::vector<uint8_t> got(size_t{16} * 3 * 32 * 32);
  int64_t labels[16] = {};
  penstock_into into{sizeof into, got.data(), got.size(), labels, nullptr, 0};
  const uint8_t* images = got.data();

  EXPECT_EQ(penstock_batch_device(batch, &images, nullptr, &error_), PENSTOCK_OK);
  EXPECT_EQ(images, nullptr);
  into.image_bytes = 5;
  EXPECT_EQ(penstock_finish_on_stream(batch, &finish, &into, nullptr, &error_),
            PENSTOCK_INVALID_ARGUMENT);
  EXPECT_NE(Info(batch).images, nullptr);  // still held
  into.image_bytes = got.size();
  EXPECT_EQ(penstock_finish_on_stream(batch, &finish, &into, nullptr, &error_), PENSTOCK_OK);

  EXPECT_EQ(std::memcmp(got.data(), Info(expected).images, got.size()), 0);
  EXPECT_EQ(std::memcmp(labels, Info(expected).labels, sizeof labels), 0);
  EXPECT_EQ(Info(batch).images, nullptr);  // released
  penstock_release(batch);
  penstock_release(expected);
  penstock_close(session);
  penstock_close(other);
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

// In the child nothing may be written to standard output, so its exit code tells.
TEST_F(CApiTest, AForkedChildGetsNothingOfItsParents) {
  penstock_session* session = Open(CRows(photographs_));
  penstock_batch* batch = Next(session);
  ASSERT_NE(batch, nullptr);

  const pid_t child = fork();
  if (child == 0) {
    penstock_batch_info info{};
    info.struct_size = sizeof info;
    penstock_state state{};
    state.struct_size = sizeof state;
    const bool refused =
        penstock_batch_get(batch, &info, &error_) == PENSTOCK_FAILED_PRECONDITION &&
        penstock_session_state(session, &state, &error_) == PENSTOCK_FAILED_PRECONDITION;
    _exit(refused && info.labels == nullptr ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);

  EXPECT_NE(Info(batch).labels, nullptr);
  penstock_release(batch);
  penstock_close(session);
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
