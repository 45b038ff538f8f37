// What the gRPC services ask of the daemon, in its own words. The services turn messages into these
// types and back, and nothing else; the application implements it. Calls come from gRPC's threads
// and never block; each callback is called exactly once, from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/dtype.h"
#include "common/base/status.h"
#include "penstock/v1/admin.pb.h"
#include "penstock/v1/feed.pb.h"
#include "penstock/v1/types.pb.h"
#include "server/session/grant.h"
#include "server/session/request.h"

namespace penstock::rpc {

// Whose connection a call came on, by the kernel's word.
struct Origin {
  uint32_t user = 0;
  int32_t pid = 0;  // 0 where the kernel cannot name it
  bool operator==(const Origin&) const = default;
};

// Who is asking: the doorway knows, by the ticket. It is good on connections of its holder alone.
struct Ticket {
  uint8_t bytes[16] = {};
  Origin origin = {};  // of the call that brought it; nothing that the doorway makes
  bool operator==(const Ticket&) const = default;
};

// A field that a session can ask for; types.proto says what is what.
struct Field {
  std::string name;
  base::DType type = base::DType::kUInt8;
  std::vector<uint32_t> shape;
  bool variable = false;
};
// uint8, height × width × channels.
struct ImageRowShape {
  uint32_t height = 0, width = 0, channels = 0;
};

struct DatasetDescription {
  std::string name, kind;
  std::optional<ImageRowShape> row_shape;  // of images that are not decoded
  std::vector<Field> fields;
  bool decoded = true, labeled = true;
  uint64_t samples = 0, first_sample = 0, epoch_samples = 0, digest = 0;
  std::vector<std::string> classes;
  std::string content_digest;  // empty: not asked for
};

struct DescribeQuery {
  std::string dataset;  // a name, or an absolute path
  bool content_digest = false;
  std::function<bool()> cancelled = [] { return false; };  // asked while the digest is made
};

struct SampleDescription {
  std::string path;
  int64_t label = 0;
};

// What a session waits for; feed.proto says what each number is.
struct Progress {
  v1::SessionPhase phase = v1::SESSION_PHASE_UNSPECIFIED;
  uint64_t announced = 0, taken = 0, released = 0;
  uint32_t window = 0, decoding = 0, copying = 0, on_device = 0, device_depth = 0;
  uint64_t samples_decoded = 0, samples_replaced = 0;
  uint32_t workers = 0, workers_running = 0, workers_stalled = 0;
  double workers_busy = 0;
  uint64_t samples_per_second = 0;
  uint32_t sessions = 0;
  uint64_t stalled_ms = 0, in_hand_ms = 0;
  std::string stalled_reason, in_hand;
};

// One page of a quarantine list.
struct QuarantineQuery {
  std::string dataset;  // empty: all
  uint32_t page_size = 0;
  // Where it begins: at this sample of the dataset with this number in the list.
  uint64_t at_dataset = 0, at_sample = 0;
};

template <typename T>
using Callback = std::function<void(absl::StatusOr<T>)>;

struct IndexProgress {
  uint64_t files_seen = 0;
  bool done = false, from_cache = false;
  uint64_t samples = 0;
  uint32_t classes = 0;
  std::string warning;
};

// An order of samples on its way in. One thread at a time; what is not finished is forgotten.
class IncomingOrder {
 public:
  virtual ~IncomingOrder() = default;
  virtual absl::Status Add(std::span<const uint64_t> samples) = 0;
  // The order's name.
  virtual absl::StatusOr<uint64_t> Finish() = 0;
};

// A trace's JSON text, piece by piece. One thread at a time.
class TraceSource {
 public:
  virtual ~TraceSource() = default;
  // At most so many bytes; empty: that was all.
  virtual std::string Next(size_t most) = 0;
  virtual uint64_t dropped() const = 0;
};

class Permit;  // access.h

// Each method is told who calls, by a permit that only the gate makes.
class Controller {
 public:
  virtual ~Controller() = default;

  // An order of so many samples (≥ 1) will come.
  virtual absl::StatusOr<std::unique_ptr<IncomingOrder>> ReceiveOrder(const Permit& permit,
                                                                      uint64_t length) = 0;
  // At least one id. InvalidArgument: one that the dataset does not have.
  virtual void DescribeSamples(const Permit& permit, const std::string& dataset,
                               std::vector<uint64_t> ids,
                               Callback<std::vector<SampleDescription>> done) = 0;
  virtual void GetProgress(const Permit& permit, uint64_t session_id, Callback<Progress> done) = 0;
  virtual void OpenSession(const Permit& permit, session::Request request,
                           Callback<session::Grant> done) = 0;
  virtual void ListSlabs(const Permit& permit, uint64_t session_id,
                         Callback<std::vector<exporting::SlabFacts>> done) = 0;
  // NotFound: it is not this process's, whoever's it is.
  virtual void CloseSession(const Permit& permit, uint64_t session_id, Callback<bool> done) = 0;
  virtual void DescribeDataset(const Permit& permit, const DescribeQuery& query,
                               Callback<DatasetDescription> done) = 0;
  // With the digest of its content; for whoever may open it, without a ticket.
  virtual void DigestDataset(const Permit& permit, const DescribeQuery& query,
                             Callback<DatasetDescription> done) = 0;
  // `progress` is called from time to time, and a last time with done = true or with an error.
  // `cancelled` is asked now and then.
  virtual void IndexDataset(const Permit& permit, const std::string& dataset,
                            std::function<bool()> cancelled, Callback<IndexProgress> progress) = 0;

  // Once `length` has passed. `cancelled` is asked several times a second. ResourceExhausted: one
  // is being taken.
  virtual void TakeTrace(const Permit& permit, base::Duration length,
                         std::function<bool()> cancelled,
                         Callback<std::unique_ptr<TraceSource>> done) = 0;

  // Status is a snapshot for people, made of the contract's own messages.
  virtual void GetStatus(const Permit& permit, Callback<v1::GetStatusResponse> done) = 0;
  virtual void ListSessions(const Permit& permit, Callback<v1::ListSessionsResponse> done) = 0;
  virtual void ListWorkers(const Permit& permit, Callback<v1::ListWorkersResponse> done) = 0;
  virtual void ListDatasets(const Permit& permit, Callback<v1::ListDatasetsResponse> done) = 0;
  virtual void ListQuarantine(const Permit& permit, const QuarantineQuery& query,
                              Callback<v1::ListQuarantineResponse> done) = 0;
  virtual void ClearQuarantine(const Permit& permit, const std::string& dataset,
                               Callback<v1::ClearQuarantineResponse> done) = 0;
  // One look at all of it, as WatchStatus sends it.
  virtual void LookAround(const Permit& permit, Callback<v1::WatchStatusResponse> done) = 0;
  virtual void SetWorkers(const Permit& permit, uint32_t count,
                          Callback<v1::SetWorkersResponse> done) = 0;
  virtual void SetDraining(const Permit& permit, bool draining,
                           Callback<v1::DrainResponse> done) = 0;
  // How far it is; Cancelled once it drains no more.
  virtual void GetDraining(const Permit& permit, Callback<v1::DrainResponse> done) = 0;
  virtual void Reload(const Permit& permit, Callback<v1::ReloadResponse> done) = 0;
};

}  // namespace penstock::rpc
