// What the gRPC services ask of the daemon, in domain types. The services only convert messages to
// these types and back; the application implements the interface.
// **Thread safety**: gRPC's threads call, and calls never block. Each callback is called exactly
// once, on any thread.
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

// The process that made the connection of a call, according to the kernel.
struct Origin {
  uint32_t user = 0;
  int32_t pid = 0;  // 0 if the kernel cannot name it
  bool operator==(const Origin&) const = default;
};

// Identifies a caller: the doorway maps tickets to processes. A ticket is valid only on connections
// of its holder.
struct Ticket {
  uint8_t bytes[16] = {};
  Origin origin = {};  // of the call that carries the ticket; not issued by the doorway
  bool operator==(const Ticket&) const = default;
};

// A field that a session can request; types.proto describes the members.
struct Field {
  std::string name = {};
  base::DType type = base::DType::kUInt8;
  std::vector<uint32_t> shape = {};
  bool variable = false;
  base::TargetSpec target = {};
};
// uint8, height × width × channels.
struct ImageRowShape {
  uint32_t height = 0, width = 0, channels = 0;
};

struct DatasetDescription {
  std::string name = {}, kind = {};
  std::optional<ImageRowShape> row_shape = {};  // of images that are not decoded
  std::vector<Field> fields = {};
  bool decoded = true, labeled = true;
  uint64_t samples = 0, first_sample = 0, epoch_samples = 0, digest = 0;
  std::vector<std::string> classes = {};
  std::string content_digest = {};  // empty: not requested
};

struct DescribeQuery {
  std::string dataset = {};  // a name or an absolute path
  bool content_digest = false;
  // Checked while the dataset is opened and its digest computed.
  std::function<bool()> cancelled = [] { return false; };
};

struct SampleDescription {
  std::string path = {};
  int64_t label = 0;
  // Where the encoded image lies, if it is a part of a file; feed.proto describes the members.
  struct FilePart {
    std::string file;
    uint64_t offset = 0, bytes = 0;
  };
  std::optional<FilePart> image = {};
};

// What a session waits for; feed.proto describes the members.
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
  std::string stalled_reason = {}, in_hand = {};
  std::optional<v1::PythonProgress> python = {};
};

// The configuration file that a reload means. An empty path: whichever the daemon reads.
struct MeantFile {
  std::string path = {};
  uint64_t device = 0, inode = 0;
};

// Selects one page of a quarantine list.
struct QuarantineQuery {
  std::string dataset = {};  // empty: all datasets
  uint32_t page_size = 0;
  // Where the page begins: the dataset's index in the list, and the sample.
  uint64_t at_dataset = 0, at_sample = 0;
};

template <typename T>
using Callback = std::function<void(absl::StatusOr<T>)>;

// True once the caller does not wait any more. Any thread; never blocks.
using Cancelled = std::function<bool()>;

struct IndexRequest {
  std::string dataset = {};
  bool fetch = false;  // also fetch all of it into the cache
  // Instead: make index files of its shards, which IndexProgress brings.
  bool export_indexes = false;
};

struct ExportedShard {
  std::string shard = {};  // its path or URL
  uint64_t samples = 0;
  std::string index = {};  // the index file's content
};

struct IndexProgress {
  uint64_t files_seen = 0;
  bool done = false, from_cache = false;
  uint64_t samples = 0;
  uint32_t classes = 0;
  std::string warning = {};
  // Of a request to fetch.
  uint64_t samples_fetched = 0, samples_to_fetch = 0;
  uint64_t bytes_fetched = 0;
  // Of a request to export: the next index, and how many there are.
  std::optional<ExportedShard> exported = {};
  uint64_t shards = 0;
};

// Receives an order of samples. An order that is not finished is discarded.
// **Thread safety**: one thread at a time.
class IncomingOrder {
 public:
  virtual ~IncomingOrder() = default;
  virtual absl::Status Add(std::span<const uint64_t> samples) = 0;
  // Returns the order's name.
  virtual absl::StatusOr<uint64_t> Finish() = 0;
};

// A trace's JSON text, in pieces.
// **Thread safety**: one thread at a time.
class TraceSource {
 public:
  virtual ~TraceSource() = default;
  // At most `most` bytes; empty at the end.
  virtual std::string Next(size_t most) = 0;
  virtual uint64_t dropped() const = 0;
};

class Permit;  // access.h

// Each method gets the caller as a permit, which only the gate can create.
class Controller {
 public:
  virtual ~Controller() = default;

  // Whether clients may name URLs of stores, which this daemon then reads in its own environment.
  virtual bool reads_urls() const { return true; }
  // Begins an order with this many samples (≥ 1).
  virtual absl::StatusOr<std::unique_ptr<IncomingOrder>> ReceiveOrder(const Permit& permit,
                                                                      uint64_t length) = 0;
  // **Requires**: at least one id. **Errors**: InvalidArgument for an id that the dataset does not
  // have.
  virtual void DescribeSamples(const Permit& permit, const std::string& dataset,
                               std::vector<uint64_t> ids, Cancelled cancelled,
                               Callback<std::vector<SampleDescription>> done) = 0;
  virtual void GetProgress(const Permit& permit, uint64_t session_id, Callback<Progress> done) = 0;
  // The caller's GPU failed on these samples. **Errors**: InvalidArgument if the session has no
  // undecoded rows, or its dataset lacks one of them.
  virtual void ReportUndecodable(const Permit& permit, uint64_t session_id,
                                 std::vector<uint64_t> samples, Callback<bool> done) = 0;
  // A session whose caller does not wait any more is not opened.
  virtual void OpenSession(const Permit& permit, session::Request request, Cancelled cancelled,
                           Callback<session::Grant> done) = 0;
  virtual void ListSlabs(const Permit& permit, uint64_t session_id,
                         Callback<std::vector<exporting::SlabFacts>> done) = 0;
  // **Errors**: NotFound if the session does not belong to this process, whether it exists or not.
  virtual void CloseSession(const Permit& permit, uint64_t session_id, Callback<bool> done) = 0;
  virtual void DescribeDataset(const Permit& permit, const DescribeQuery& query,
                               Callback<DatasetDescription> done) = 0;
  // Describes the dataset and its content digest for anyone who may open it, without a ticket.
  virtual void DigestDataset(const Permit& permit, const DescribeQuery& query,
                             Callback<DatasetDescription> done) = 0;
  // Calls `progress` repeatedly, and finally with done = true or an error. Checks `cancelled` now
  // and then.
  virtual void IndexDataset(const Permit& permit, const IndexRequest& request,
                            std::function<bool()> cancelled, Callback<IndexProgress> progress) = 0;

  // Calls back after `length`. Checks `cancelled` several times a second. **Errors**:
  // ResourceExhausted if another trace is being taken.
  virtual void TakeTrace(const Permit& permit, base::Duration length,
                         std::function<bool()> cancelled,
                         Callback<std::unique_ptr<TraceSource>> done) = 0;

  // Status is a snapshot for display, so it uses the protocol's messages directly.
  virtual void GetStatus(const Permit& permit, Callback<v1::GetStatusResponse> done) = 0;
  virtual void ListSessions(const Permit& permit, Callback<v1::ListSessionsResponse> done) = 0;
  virtual void ListWorkers(const Permit& permit, Callback<v1::ListWorkersResponse> done) = 0;
  virtual void ListDatasets(const Permit& permit, Callback<v1::ListDatasetsResponse> done) = 0;
  // The same with what the daemon sees at their places.
  virtual void LookAtDatasets(const Permit& permit, Callback<v1::ListDatasetsResponse> done) = 0;
  virtual void ListQuarantine(const Permit& permit, const QuarantineQuery& query,
                              Callback<v1::ListQuarantineResponse> done) = 0;
  virtual void ClearQuarantine(const Permit& permit, const std::string& dataset,
                               Callback<v1::ClearQuarantineResponse> done) = 0;
  // One snapshot of everything, as WatchStatus sends it.
  virtual void LookAround(const Permit& permit, Callback<v1::WatchStatusResponse> done) = 0;
  virtual void SetWorkers(const Permit& permit, uint32_t count,
                          Callback<v1::SetWorkersResponse> done) = 0;
  virtual void SetDraining(const Permit& permit, bool draining,
                           Callback<v1::DrainResponse> done) = 0;
  // The progress of a drain. **Errors**: Cancelled once the daemon no longer drains.
  virtual void GetDraining(const Permit& permit, Callback<v1::DrainResponse> done) = 0;
  virtual void Reload(const Permit& permit, const MeantFile& file,
                      Callback<v1::ReloadResponse> done) = 0;
};

}  // namespace penstock::rpc
