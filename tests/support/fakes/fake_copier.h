// A copier whose GPU is host memory. Slabs are arrays, and copies happen when the test says so.
// Tests can inspect the requests.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/posix/memory.h"
#include "server/export/copier.h"

namespace penstock::exporting {

class FakeCopier final : public Copier {
 public:
  void MakeSlab(const SlabOrder& order) override {
    orders.push_back(order);
    if (slabs_by_hand) return;
    CompleteSlab();
  }
  void FreeSlab(uint32_t slab) override {
    slabs.erase(slab);
    freed.push_back(slab);
  }
  void OpenSegment(uint32_t segment, posix::Fd memory, uint64_t bytes) override {
    segments[segment] = *posix::Mapping::Map(memory, bytes, posix::Access::kReadWrite);
  }
  void CloseSegment(uint32_t segment) override { segments.erase(segment); }
  void Copy(const CopyOrder& order) override {
    copies.push_back(order);
    ++copies_asked;
  }
  void Pass(const PassOrder& order) override {
    passes.push_back(order);
    ++passes_asked;
  }
  void Poison(uint32_t slab, uint64_t offset, uint64_t bytes) override {
    std::fill_n(slabs.at(slab).data() + offset, bytes, kPoison);
  }
  Done Collect() override { return std::exchange(done_, {}); }
  const posix::Fd& event() const override { return event_; }
  absl::Status status() const override { return failure; }
  CopierFacts facts() const override {
    return {.name = "Fake GPU", .context_bytes = 525u << 20, .linked = linked};
  }

  // Completes the oldest requested slab, or fails it with `status`.
  void CompleteSlab(const absl::Status& status = absl::OkStatus()) {
    const SlabOrder order = orders.at(slabs_done++);
    SlabResult result;
    result.slab = order.slab;
    result.status = refuse_slabs.ok() ? status : refuse_slabs;
    if (result.status.ok()) {
      std::vector<std::byte>& slab = slabs[order.slab];
      slab.resize(order.bytes);
      std::copy(order.canary.begin(), order.canary.end(), slab.end() - kCanaryHeadroom);
      std::memcpy(result.ipc.data(), &order.slab, sizeof(order.slab));
      result.address = {.kind = order.kind, .data = slab.data(), .bytes = order.bytes};
      if (order.kind == cuda::HandleKind::kVmm)
        result.descriptor = *posix::MakeMemory("slab", order.bytes);
    }
    done_.slabs.push_back(std::move(result));
    posix::NotifyEvent(event_);
  }
  // Completes the `count` oldest copies.
  void Complete(size_t count = SIZE_MAX) {
    for (; count > 0 && !copies.empty(); --count) {
      const CopyOrder order = copies.front();
      copies.pop_front();
      std::memcpy(slabs.at(order.slab).data() + order.slab_offset,
                  segments.at(order.segment).data() + order.offset, order.bytes);
      done_.copies.push_back(order.id);
      posix::NotifyEvent(event_);
    }
  }

  // Completes the oldest copy from another GPU, or says that it cannot be made.
  void CompletePass(bool can = true) {
    const PassOrder order = passes.front();
    passes.pop_front();
    if (can) {
      std::memcpy(slabs.at(order.slab).data() + order.slab_offset,
                  order.from.data + order.from_offset, order.bytes);
      done_.copies.push_back(order.id);
    } else {
      done_.not_passed.push_back(order.id);
    }
    posix::NotifyEvent(event_);
  }

  bool slabs_by_hand = false;  // only CompleteSlab makes slabs
  absl::Status refuse_slabs;   // if not OK, requests for slabs fail with it
  absl::Status failure;        // if not OK, nothing completes any more
  std::vector<SlabOrder> orders;
  std::vector<uint32_t> freed;
  std::map<uint32_t, std::vector<std::byte>> slabs;
  std::map<uint32_t, posix::Mapping> segments;
  std::vector<cuda::Uuid> linked;
  std::deque<CopyOrder> copies;  // requested but not yet made
  std::deque<PassOrder> passes;
  size_t copies_asked = 0, passes_asked = 0, slabs_done = 0;

 private:
  const posix::Fd event_ = *posix::MakeEvent();
  Done done_;
};

}  // namespace penstock::exporting
