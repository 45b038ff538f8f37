// A trainer on a GPU, for tests: takes batches, finishes each as it is stored into memory of its
// own, and reads that back, so that what was delivered can be compared with host delivery byte for
// byte.
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

// The photographs that tests take: those of PENSTOCK_TEST_DATA, or generated ones.
const std::string& TestPhotographs();

// How a session shall deliver; its words on command lines are its members' names.
struct How {
  std::string device = "cuda:0";
  Delivery delivery = Delivery::kDevice;
  HandleKind handle = HandleKind::kAuto;
};
SessionOptions On(const How& how, SessionOptions options);
Delivery DeliveryOf(const std::string& word);
HandleKind HandleOf(const std::string& word);

// Memory on a session's device for one finished batch, and a stream of our own there.
class Desk {
 public:
  explicit Desk(const Session& session, size_t element_bytes = 1);
  ~Desk();
  Into into() const;
  Stream stream() const { return stream_.get(); }
  int device() const { return device_; }
  // What was finished into it on that stream.
  std::vector<uint8_t> Images(size_t bytes, Stream stream) const;
  std::vector<int64_t> Labels(size_t rows, Stream stream) const;

 private:
  const int device_;
  size_t bytes_ = 0;
  cuda::DeviceMemory images_, labels_;
  cuda::Stream stream_;
};

// Takes batches until the epoch ends or so many were taken; the status that ended it (ok: so many).
Status TakeOnGpu(Session& session, const Desk& desk, Stream stream, uint64_t at_most,
                 testing::Delivered& delivered);

struct Epoch {
  testing::Delivered delivered;
  Delivery delivery = Delivery::kAuto;
  HandleKind handle = HandleKind::kAuto;
  std::string reason;
};
// A whole epoch of a fresh session, on a stream of its own. The test fails if it does not end as it
// should.
Epoch OneEpochOnGpu(const std::string& address, const SessionOptions& options);

// One number for all that was delivered.
std::string DigestOf(const testing::Delivered& delivered);

}  // namespace penstock::gpu
