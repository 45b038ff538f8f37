#include "tests/system/workers/rig.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "server/decode/decoder.h"
#include "server/decode/jpeg/libjpeg.h"

namespace penstock::workers {
namespace {

class MemoryReader final : public source::Dataset::Reader {
 public:
  explicit MemoryReader(const MemoryDataset& dataset) : dataset_(dataset) {}

  absl::StatusOr<Opened> Open(uint64_t sample) override {
    if (dataset_.failures > 0 && dataset_.failures-- > 0) {
      return absl::UnavailableError("the memory is away");
    }
    dataset_.WaitWhileItHangs();
    sample_ = sample;
    return Opened{.bytes = dataset_.file(sample).size(), .fault = base::Fault::kNone};
  }
  absl::Status Read(std::span<std::byte> into) override {
    std::ranges::copy(dataset_.file(sample_), into.begin());
    return absl::OkStatus();
  }

 private:
  const MemoryDataset& dataset_;
  uint64_t sample_ = 0;
};

uint8_t Pixel(uint32_t x, uint32_t y, uint32_t channel, uint64_t seed) {
  const uint32_t smooth = (x * (3 + seed % 5) + y * (2 + channel) + 40 * ((x / 37 + y / 53) % 3));
  const uint32_t noise = ((x * 2654435761u) ^ (y * 40503u) ^ static_cast<uint32_t>(seed)) >> 27;
  return static_cast<uint8_t>(smooth / 8 + noise);
}

}  // namespace

std::unique_ptr<source::Dataset::Reader> MemoryDataset::NewReader() const {
  return std::make_unique<MemoryReader>(*this);
}

std::vector<std::byte> MakeJpeg(uint32_t width, uint32_t height, uint64_t seed) {
  jpeg_compress_struct codec;
  jpeg_error_mgr errors;
  codec.err = jpeg_std_error(&errors);
  jpeg_create_compress(&codec);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&codec, &buffer, &size);
  codec.image_width = width;
  codec.image_height = height;
  codec.input_components = 3;
  codec.in_color_space = JCS_RGB;
  jpeg_set_defaults(&codec);
  jpeg_set_quality(&codec, 90, TRUE);
  jpeg_start_compress(&codec, TRUE);
  std::vector<uint8_t> line(3 * width);
  for (uint32_t y = 0; y < height; ++y) {
    for (uint32_t i = 0; i < line.size(); ++i) line[i] = Pixel(i / 3, y, i % 3, seed);
    JSAMPROW row = line.data();
    jpeg_write_scanlines(&codec, &row, 1);
  }
  jpeg_finish_compress(&codec);
  const auto* bytes = reinterpret_cast<const std::byte*>(buffer);
  std::vector<std::byte> file(bytes, bytes + size);
  jpeg_destroy_compress(&codec);
  std::free(buffer);
  return file;
}

Rig::Rig(MemoryDataset& dataset, SupervisorOptions options, size_t rows, decode::Spec spec)
    : dataset_(dataset), user_(options.user), spec_(spec), limits_(options.limits) {
  const size_t bytes = rows * decode::RowBytes(spec);
  memory_ = posix::MakeMemory("segment", bytes).value();
  mapping_ = posix::Mapping::Map(memory_, bytes, posix::Access::kReadWrite).value();
  options.patience = std::chrono::seconds(10);  // a busy machine is not a stalled source
  supervisor_ = std::make_unique<Supervisor>(options);
  const absl::Status started = supervisor_->Start();
  EXPECT_TRUE(started.ok()) << started;
  EXPECT_TRUE(supervisor_->AddSegment(kSegment, user_, memory_, bytes).ok());
}

WorkItem Rig::Item(uint64_t row, uint64_t sample) const {
  return {.id = row,
          .user = user_,
          .account = kAccount,
          .dataset = &dataset_,
          .sample = sample,
          .spec = spec_,
          .key = {.seed = 1, .epoch = row / dataset_.samples(), .sample = sample},
          .segment = kSegment,
          .row_offset = row * decode::RowBytes(spec_)};
}

std::span<const std::byte> Rig::Row(uint64_t row) const {
  return mapping_.bytes().subspan(row * decode::RowBytes(spec_), decode::RowBytes(spec_));
}

std::vector<std::byte> Rig::Expected(const WorkItem& item) const {
  decode::Decoder decoder(limits_);
  std::vector<std::byte> row(decode::RowBytes(item.spec));
  EXPECT_EQ(decoder.DecodeRow(dataset_.file(item.sample), item.spec, item.key, row),
            base::Fault::kNone);
  return row;
}

void Rig::Step() {
  before_each_step();
  pollfd entry{.fd = supervisor_->event_fd(), .events = POLLIN, .revents = 0};
  ::poll(&entry, 1, 20);
  for (Outcome& each : supervisor_->Collect(base::Now())) outcomes_.push_back(std::move(each));
  supervisor_->Tick(base::Now());
}

bool Rig::RunUntil(const std::function<bool()>& condition) {
  // Under ThreadSanitizer three seconds become fourteen, and more on busy cores.
  const base::TimePoint deadline = base::Now() + std::chrono::seconds(90);
  while (!condition()) {
    if (base::Now() > deadline) return false;
    Step();
  }
  return true;
}

bool Rig::RunUntilOutcomes(size_t count) {
  return RunUntil([&] { return outcomes_.size() >= count; });
}

bool Rig::DecodeAll(uint64_t count) {
  uint64_t next = 0, done = 0;
  size_t seen = outcomes_.size();
  std::vector<uint64_t> again;
  return RunUntil([&] {
    for (; seen < outcomes_.size(); ++seen) {
      if (outcomes_[seen].kind == OutcomeKind::kDone) {
        ++done;
      } else {
        again.push_back(outcomes_[seen].id);
      }
    }
    for (size_t scratch = Headroom(); scratch > 0; --scratch) {
      if (again.empty() && next == count) break;
      const uint64_t row = again.empty() ? next++ : again.back();
      if (!again.empty()) again.pop_back();
      Submit(row, row % dataset_.samples());
    }
    return done == count;
  });
}

const Outcome& Rig::OutcomeOf(uint64_t id) const {
  for (const Outcome& each : outcomes_) {
    if (each.id == id) return each;
  }
  static const Outcome kNothing{.id = UINT64_MAX, .kind = OutcomeKind::kLost, .status = {}};
  ADD_FAILURE() << "no outcome of " << id;
  return kNothing;
}

WorkerView Rig::Worker(size_t number) { return supervisor_->View(base::Now()).at(number); }

bool Rig::SubmitInHand(uint64_t row, uint64_t sample) {
  Submit(row, sample);
  return RunUntil([&] {
    for (const WorkerView& each : supervisor_->View(base::Now())) {
      if (each.in_hand && each.in_hand->sample == sample) return true;
    }
    return false;
  });
}

}  // namespace penstock::workers
