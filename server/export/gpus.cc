#include "server/export/gpus.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock::exporting {
namespace {

// Clients may name any GPU: limits how many are tried at once, and how many refusals are
// remembered.
constexpr size_t kMaxGpus = 64;
constexpr size_t kMaxRefused = 16;

}  // namespace

void Gpus::Reserve(const DeviceOpening& opening, Answer answer) {
  const cuda::Uuid uuid = opening.request.gpu;
  absl::StatusOr<Gpu*> gpu = Find(uuid);
  if (!gpu.ok()) {
    Refused(uuid, gpu.status());
    return answer(gpu.status());
  }
  HandleChoice handle = ChooseHandle(opening.request.kind, opening.request.client, name_);
  const Gpu::SlotRequest request = {
      .peer = opening.peer,
      .user = opening.user,
      .slot_bytes = opening.slot_bytes,
      .depth = opening.request.depth > 0 ? opening.request.depth : options_.depth,
      .kind = handle.kind};
  (*gpu)->Reserve(request, [this, uuid, handle = std::move(handle), answer = std::move(answer)](
                               absl::StatusOr<DeviceReservation> reservation) {
    if (reservation.ok()) {
      refused_.erase(uuid);
      return answer(ReservedPlace{*std::move(reservation), handle});
    }
    // A shortage that others cause is no fault of the GPU.
    if (!absl::IsResourceExhausted(reservation.status()) &&
        !absl::IsUnavailable(reservation.status()))
      Refused(uuid, reservation.status());
    answer(reservation.status());
  });
}

absl::StatusOr<Gpu*> Gpus::Find(const cuda::Uuid& uuid) {
  if (options_.max_bytes == 0)
    return absl::FailedPreconditionError(
        "gpu.max is 0B: this daemon does not deliver to GPUs; ask for pinned delivery, or raise "
        "gpu.max");
  if (const auto found = gpus_.find(uuid); found != gpus_.end()) return found->second.get();
  if (gpus_.size() >= kMaxGpus)
    return absl::ResourceExhaustedError(
        absl::StrCat(kMaxGpus, " GPUs are in use or being tried; try again"));
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<Copier> copier, options_.make_copier(uuid));
  auto gpu = std::make_unique<Gpu>(
      uuid,
      Gpu::Options{.max_bytes = options_.max_bytes,
                   .unheld = options_.unheld,
                   .find_elsewhere =
                       [this](const Gpu& to, uint32_t user, const Content& content) {
                         return FindBatch(to, user, content);
                       }},
      std::move(copier), [this] { return ++last_slab_; });
  watch_(gpu->event().get(), true);
  return (gpus_[uuid] = std::move(gpu)).get();
}

std::optional<HeldBatch> Gpus::FindBatch(const Gpu& to, uint32_t user, const Content& content) {
  for (const auto& [uuid, gpu] : gpus_) {
    if (gpu.get() == &to || !to.LinkedTo(uuid)) continue;
    if (std::optional<HeldBatch> held = gpu->HoldFor(user, content)) return held;
  }
  return std::nullopt;
}

void Gpus::Refused(const cuda::Uuid& uuid, const absl::Status& why) {
  if (!refused_.contains(uuid) && refused_.size() >= kMaxRefused) refused_.erase(refused_.begin());
  refused_[uuid] = std::string(why.message());
}

bool Gpus::Collect() {
  bool busy = false;
  for (const auto& [uuid, gpu] : gpus_) busy |= gpu->Collect();
  for (const auto& [uuid, gpu] : gpus_) gpu->StartPasses();
  if (busy) DropUnused();
  return busy;
}

// Drops GPUs that could not be used: their copiers end, and the next session starts new ones.
void Gpus::DropUnused() {
  std::erase_if(gpus_, [this](const auto& entry) {
    if (!entry.second->Unused() || !refused_.contains(entry.first)) return false;
    watch_(entry.second->event().get(), false);
    return true;
  });
}

void Gpus::ForgetSegment(uint32_t segment) {
  for (const auto& [uuid, gpu] : gpus_) gpu->ForgetSegment(segment);
}

void Gpus::ForgetPeer(uint64_t peer) {
  for (const auto& [uuid, gpu] : gpus_) gpu->ForgetPeer(peer);
}

bool Gpus::Knows(uint64_t peer) const {
  return std::any_of(gpus_.begin(), gpus_.end(),
                     [peer](const auto& entry) { return entry.second->Knows(peer); });
}

void Gpus::CancelAll(const absl::Status& why) {
  for (const auto& [uuid, gpu] : gpus_) gpu->CancelAll(why);
}

absl::Status Gpus::status() const {
  for (const auto& [uuid, gpu] : gpus_)
    PENSTOCK_RETURN_IF_ERROR(base::Annotate(gpu->status(), uuid.ToString()));
  return absl::OkStatus();
}

void Gpus::Tick(base::TimePoint now) {
  for (const auto& [uuid, gpu] : gpus_) gpu->Tick(now);
}

std::vector<GpuView> Gpus::View() const {
  std::vector<GpuView> views;
  for (const auto& [uuid, gpu] : gpus_) views.push_back(gpu->View());
  for (const auto& [uuid, why] : refused_) {
    if (gpus_.contains(uuid)) continue;
    GpuView view;
    view.uuid = uuid.ToString();
    view.state = why;
    views.push_back(std::move(view));
  }
  return views;
}

}  // namespace penstock::exporting
