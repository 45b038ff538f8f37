#include "tests/gpu/delivery.h"

#include <cstdlib>
#include <limits>

#include "absl/strings/str_cat.h"
#include "tests/gpu/gpu.h"
#include "tests/support/programs/daemon_process.h"

namespace penstock::gpu {
namespace {

constexpr int kGenerated = 100;  // not a multiple of the tests' batch sizes

}  // namespace

const std::string& TestPhotographs() {
  static const std::string given = [] {
    const char* data = std::getenv("PENSTOCK_TEST_DATA");
    return data == nullptr ? std::string() : absl::StrCat(data, "/imagenet-sample");
  }();
  return given.empty() ? testing::Photographs(kGenerated) : given;
}

SessionOptions On(const How& how, SessionOptions options) {
  options.device = how.device;
  options.delivery = how.delivery;
  options.handle = how.handle;
  return options;
}

Delivery DeliveryOf(const std::string& word) {
  for (const Delivery delivery : {Delivery::kDevice, Delivery::kPinned, Delivery::kHost}) {
    if (word == DeliveryName(delivery)) return delivery;
  }
  return Delivery::kAuto;
}

HandleKind HandleOf(const std::string& word) {
  for (const HandleKind handle : {HandleKind::kIpc, HandleKind::kVmm}) {
    if (word == HandleName(handle)) return handle;
  }
  return HandleKind::kAuto;
}

Desk::Desk(const Session& session, size_t element_bytes) : device_(session.device()) {
  const cuda::DeviceScope scope(device_);
  const Shape shape = session.shape();
  bytes_ = size_t{shape.rows} * shape.height * shape.width * shape.channels * element_bytes;
  images_ = Must(cuda::DeviceMemory::Make(bytes_));
  labels_ = Must(cuda::DeviceMemory::Make(shape.rows * sizeof(int64_t)));
  stream_ = Must(cuda::Stream::Make());
}

Desk::~Desk() {
  const cuda::DeviceScope scope(device_);
  const cuda::Stream gone = std::move(stream_);
}

Into Desk::into() const {
  return {images_.data(), bytes_, reinterpret_cast<int64_t*>(labels_.data())};
}

std::vector<uint8_t> Desk::Images(size_t bytes, Stream stream) const {
  const cuda::DeviceScope scope(device_);
  std::vector<uint8_t> images(bytes);
  EXPECT_OK(
      cuda::CopyToHost(reinterpret_cast<std::byte*>(images.data()), images_.data(), bytes, stream));
  return images;
}

std::vector<int64_t> Desk::Labels(size_t rows, Stream stream) const {
  const cuda::DeviceScope scope(device_);
  std::vector<int64_t> labels(rows);
  EXPECT_OK(cuda::CopyToHost(reinterpret_cast<std::byte*>(labels.data()), labels_.data(),
                             rows * sizeof(int64_t), stream));
  return labels;
}

Status TakeOnGpu(Session& session, const Desk& desk, Stream stream, uint64_t at_most,
                 testing::Delivered& delivered) {
  for (uint64_t taken = 0; taken < at_most; ++taken) {
    Result<Batch> batch = session.Next(stream, std::chrono::seconds(30));
    if (!batch.ok()) return batch.status();
    const std::vector<uint64_t> ids(batch->sample_ids().begin(), batch->sample_ids().end());
    const std::vector<int64_t> labels(batch->labels().begin(), batch->labels().end());
    const size_t bytes = batch->FinishedBytes(kAsStored);
    if (const Status done = batch->FinishInto(kAsStored, desk.into(), stream); !done.ok()) {
      return done;
    }
    const std::vector<uint8_t> images = desk.Images(bytes, stream);
    EXPECT_EQ(desk.Labels(batch->rows(), stream), labels);
    testing::NoteRows(*batch, {images, labels, ids}, delivered);
  }
  return {};
}

Epoch OneEpochOnGpu(const std::string& address, const SessionOptions& options) {
  Epoch epoch;
  Client client = Client::Connect({.address = address}).OrDie();
  Result<Session> session = client.Open(options);
  EXPECT_TRUE(session.ok()) << session.status().ToString();
  if (!session.ok()) return epoch;
  epoch.delivery = session->delivery();
  epoch.handle = session->handle();
  epoch.reason = session->delivery_reason();
  const Desk desk(*session);
  const Status end = TakeOnGpu(*session, desk, desk.stream(), std::numeric_limits<uint64_t>::max(),
                               epoch.delivered);
  EXPECT_EQ(end.code(), Code::kEndOfEpoch) << end.ToString();
  EXPECT_EQ(session->Next().status().code(), Code::kEndOfData);
  return epoch;
}

std::string DigestOf(const testing::Delivered& delivered) {
  uint64_t digest = 0xCBF29CE484222325;
  const auto add = [&](uint64_t value) { digest = (digest ^ value) * 0x100000001B3; };
  for (const auto& [place, row] : delivered.rows) {
    add(place.first);
    add(place.second);
    add(row.pixels);
    add(static_cast<uint64_t>(row.label));
    add(row.sample);
  }
  return absl::StrCat(absl::Hex(digest, absl::kZeroPad16), "/", delivered.rows.size());
}

}  // namespace penstock::gpu
