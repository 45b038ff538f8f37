// A daemon and a C client for each test of the C API.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "client/include/penstock/c.h"
#include "tests/support/programs/daemon_process.h"

namespace penstock::testing {

inline constexpr int kImages = 60;

inline penstock_session_options CRows(const std::string& dataset) {
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

  static inline DaemonProcess* daemon_ = nullptr;
  penstock_client* client_ = nullptr;
  penstock_error error_ = {};
  const std::string& photographs_ = Photographs(kImages);
};

}  // namespace penstock::testing
