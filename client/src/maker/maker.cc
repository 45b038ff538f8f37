// The public classes of penstock/maker.h: thin wrappers around the ones in this folder.
#include "penstock/maker.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/core/convert.h"
#include "client/src/maker/host.h"
#include "client/src/maker/worker.h"

namespace penstock {
namespace {

using std::chrono::milliseconds;

// Limited to a day so that the clock cannot overflow.
base::Duration WaitFor(milliseconds timeout) {
  return std::clamp<milliseconds>(timeout, milliseconds(0), std::chrono::hours(24));
}

absl::StatusOr<client::HostToken> ToToken(const std::string& token) {
  client::HostToken bytes;
  if (token.size() != bytes.size()) {
    return absl::InvalidArgumentError(absl::StrCat("a host's token: wrong size: got ", token.size(),
                                                   " bytes, expected ", bytes.size(),
                                                   "; pass Session::host_token"));
  }
  std::copy(token.begin(), token.end(), bytes.begin());
  return bytes;
}

client::PlaceStart ToInternal(PlaceStart at) { return {.place = at.place, .start = at.start}; }

}  // namespace

MakerHost::MakerHost(std::unique_ptr<client::MakerHost> host) : host_(std::move(host)) {}
MakerHost::MakerHost(MakerHost&&) noexcept = default;
MakerHost& MakerHost::operator=(MakerHost&&) noexcept = default;
MakerHost::~MakerHost() = default;

Result<MakerHost> MakerHost::Enter(HostOptions options) {
  posix::Fd trainer(options.trainer), life(options.life);
  const absl::StatusOr<client::HostToken> token = ToToken(options.token);
  if (!token.ok()) return client::ToPublic(token.status());
  absl::StatusOr<std::unique_ptr<client::MakerHost>> host =
      client::MakerHost::Enter({.address = std::move(options.address),
                                .token = *token,
                                .client = std::move(options.client),
                                .trainer = std::move(trainer),
                                .life = std::move(life),
                                .timeout = WaitFor(options.timeout)});
  if (!host.ok()) return client::ToPublic(host.status());
  return MakerHost(*std::move(host));
}

Status MakerHost::CloseInherited() { return client::ToPublic(host_->CloseInherited()); }

Result<std::vector<PlaceStart>> MakerHost::Next(milliseconds timeout) {
  const absl::StatusOr<std::vector<client::PlaceStart>> wanted =
      host_->Next(base::Now() + WaitFor(timeout));
  if (!wanted.ok()) return client::ToPublic(wanted.status());
  std::vector<PlaceStart> places;
  for (const client::PlaceStart& at : *wanted) places.push_back({at.place, at.start});
  return places;
}

Result<int> MakerHost::MakeWords(uint32_t place) {
  const absl::StatusOr<int> words = host_->MakeWords(place);
  if (!words.ok()) return client::ToPublic(words.status());
  return *words;
}

Status MakerHost::NoteForked(PlaceStart at, pid_t pid) {
  return client::ToPublic(host_->NoteForked(ToInternal(at), pid));
}

void MakerHost::Fail(const std::string& why) { host_->Fail(why); }

void MakerHost::AskToEnd(int signal, milliseconds timeout) {
  host_->AskToEnd(signal, base::Now() + WaitFor(timeout));
}

void MakerHost::LeaveInWorker(uint32_t place) { host_->LeaveInWorker(place); }

size_t MakerHost::workers() const { return host_->workers(); }

Status EndWithHost(pid_t host) { return client::ToPublic(client::EndWithHost(host)); }

MakerWorker::MakerWorker(std::unique_ptr<client::MakerWorker> worker)
    : worker_(std::move(worker)) {}
MakerWorker::MakerWorker(MakerWorker&&) noexcept = default;
MakerWorker& MakerWorker::operator=(MakerWorker&&) noexcept = default;
MakerWorker::~MakerWorker() = default;

Result<MakerWorker> MakerWorker::Enter(const std::string& address, const std::string& token,
                                       PlaceStart at, milliseconds timeout) {
  const absl::StatusOr<client::HostToken> bytes = ToToken(token);
  if (!bytes.ok()) return client::ToPublic(bytes.status());
  absl::StatusOr<std::unique_ptr<client::MakerWorker>> worker =
      client::MakerWorker::Enter(address, *bytes, ToInternal(at), WaitFor(timeout));
  if (!worker.ok()) return client::ToPublic(worker.status());
  return MakerWorker(*std::move(worker));
}

void MakerWorker::Ready() { worker_->Ready(); }

Result<BatchToMake> MakerWorker::Next(milliseconds timeout) {
  const absl::StatusOr<client::BatchToMake> batch = worker_->Next(base::Now() + WaitFor(timeout));
  if (!batch.ok()) return client::ToPublic(batch.status());
  return BatchToMake{.sequence = batch->sequence,
                     .ids = batch->ids,
                     .room = batch->room,
                     .most = batch->most,
                     .attempt = batch->attempt,
                     .epoch = batch->epoch,
                     .seed = batch->seed,
                     .key_first = batch->key_first,
                     .key_step = batch->key_step,
                     .stream = batch->stream};
}

void MakerWorker::SetRow(uint32_t row) { worker_->SetRow(row); }

Result<std::span<std::byte>> MakerWorker::AskForRoom(uint64_t bytes, milliseconds timeout) {
  const absl::StatusOr<std::span<std::byte>> room =
      worker_->AskForRoom(bytes, base::Now() + WaitFor(timeout));
  if (!room.ok()) return client::ToPublic(room.status());
  return *room;
}

Status MakerWorker::Done(uint64_t bytes) { return client::ToPublic(worker_->Done(bytes)); }

Status MakerWorker::Raised(uint32_t row, uint64_t bytes) {
  return client::ToPublic(worker_->Raised(row, bytes));
}

std::span<std::byte> MakerWorker::room() const { return worker_->room(); }

}  // namespace penstock
