// A trainer on a GPU, for tests. It takes batches, finishes each as stored into its own memory, and
// reads that back, so that tests can compare the delivery with host delivery byte for byte.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/include/penstock/penstock.h"
#include "common/cuda/slab.h"
#include "common/cuda/stream.h"
#include "tests/support/programs/trainer.h"

namespace penstock::gpu {

inline constexpr Finish kAsStored = {.type = Type::kUInt8, .layout = Layout::kNHWC};

// Returns the folder of the photographs: those of PENSTOCK_TEST_DATA, or generated ones.
const std::string& TestPhotographs();

// How a session delivers. Command lines use the names from DeliveryName() and HandleName().
struct How {
  std::string device = "cuda:0";
  Delivery delivery = Delivery::kDevice;
  HandleKind handle = HandleKind::kAuto;
};
SessionOptions On(const How& how, SessionOptions options);
Delivery DeliveryOf(const std::string& word);
HandleKind HandleOf(const std::string& word);

// Memory on a session's device for one finished batch, and its own stream there.
class Desk {
 public:
  explicit Desk(const Session& session, size_t element_bytes = 1);
  ~Desk();
  Into into() const;
  Stream stream() const { return stream_.get(); }
  int device() const { return device_; }
  // Returns what was finished into the memory on that stream.
  std::vector<uint8_t> Images(size_t bytes, Stream stream) const;
  std::vector<int64_t> Labels(size_t rows, Stream stream) const;

 private:
  const int device_;
  size_t bytes_ = 0;
  cuda::DeviceMemory images_, labels_;
  cuda::Stream stream_;
};

// Takes at most `at_most` batches of the epoch. Returns the status that ended it; OK means
// `at_most` were taken.
Status TakeOnGpu(Session& session, const Desk& desk, Stream stream, uint64_t at_most,
                 testing::Delivered& delivered);

struct Epoch {
  testing::Delivered delivered;
  Delivery delivery = Delivery::kAuto;
  HandleKind handle = HandleKind::kAuto;
  std::string reason;
};
// Takes a whole epoch of a new session, on its own stream. The test fails if the epoch does not end
// normally.
Epoch OneEpochOnGpu(const std::string& address, const SessionOptions& options);

// Returns one digest of everything that was delivered.
std::string DigestOf(const testing::Delivered& delivered);

}  // namespace penstock::gpu
