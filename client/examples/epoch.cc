// Takes one epoch: penstock-example-epoch --data PATH. Prints the speed and a SHA-256 over every
// delivered byte.
#include <unistd.h>

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "client/examples/epoch_options.h"
#include "client/examples/sha256.h"
#include "penstock/penstock.h"

namespace penstock::examples {
namespace {

using Clock = std::chrono::steady_clock;

struct Summary {
  uint64_t samples = 0, batches = 0, quarantined = 0;
  double seconds = 0;
  std::string sha256;
  std::string delivery, reason;
  double images_per_second() const { return seconds > 0 ? double(samples) / seconds : 0; }
};

// A progress bar on standard error, drawn at most ten times a second, and only on a terminal.
class ProgressBar {
 public:
  explicit ProgressBar(uint64_t total) : total_(total), shown_(::isatty(STDERR_FILENO) == 1) {}
  ~ProgressBar() {
    if (shown_) std::fprintf(stderr, "\r\033[K");
  }

  void Show(uint64_t epoch, uint64_t done, uint64_t samples) {
    const Clock::time_point now = Clock::now();
    if (!shown_ || (now - last_ < std::chrono::milliseconds(100) && done < total_)) return;
    last_ = now;
    constexpr int kWidth = 40;
    const int full = total_ == 0 ? kWidth : static_cast<int>(kWidth * done / total_);
    std::fprintf(stderr,
                 "\r\033[Kepoch %" PRIu64 " [%.*s%*s] %" PRIu64 "/%" PRIu64 " batches, %" PRIu64
                 " images",
                 epoch, full, "########################################", kWidth - full, "", done,
                 total_, samples);
  }

 private:
  const uint64_t total_;
  const bool shown_;
  Clock::time_point last_;
};

// Hashes the rows that are not padding, then their labels as int64 (little endian, as on every
// supported host). Copies rows on a GPU back into `spare`.
Status Hash(const Batch& batch, std::vector<uint8_t>& spare, Sha256& sha) {
  const Shape shape = batch.shape();
  const size_t row_bytes = size_t{shape.height} * shape.width * shape.channels;
  std::span<const uint8_t> images = batch.images();
  if (batch.on_device()) {
    spare.resize(batch.rows() * row_bytes);
    if (Status copied = batch.CopyImages(spare.data(), spare.size()); !copied.ok()) return copied;
    images = spare;
  }
  sha.Add(images.first(batch.valid_rows() * row_bytes));
  const auto labels = batch.labels().first(batch.valid_rows());
  sha.Add({reinterpret_cast<const uint8_t*>(labels.data()), labels.size_bytes()});
  return {};
}

// Takes every batch of every epoch. kEndOfEpoch does not end the loop.
Status Consume(Session& session, Summary& summary, Sha256& sha) {
  ProgressBar bar(session.batches_in_epoch());
  std::vector<uint8_t> spare;
  uint64_t in_epoch = 0;
  for (;;) {
    const Result<Batch> batch = session.Next();
    if (batch.status().code() == Code::kEndOfData) return {};
    if (batch.status().code() == Code::kEndOfEpoch) {
      in_epoch = 0;
      continue;
    }
    if (!batch) return batch.status();
    if (Status hashed = Hash(*batch, spare, sha); !hashed.ok()) return hashed;
    summary.samples += batch->valid_rows();
    ++summary.batches;
    bar.Show(batch->epoch(), ++in_epoch, summary.samples);
  }
}

Result<Summary> Run(const EpochOptions& options) {
  Result<Client> client = Client::Connect(options.client);
  if (!client) return client.status();
  Result<Session> session = client->Open(options.session);
  if (!session) return session.status();
  Summary summary;
  summary.delivery = DeliveryName(session->delivery());
  summary.reason = session->delivery_reason();
  Sha256 sha;
  const Clock::time_point begin = Clock::now();
  if (const Status status = Consume(*session, summary, sha); !status.ok()) return status;
  summary.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  summary.sha256 = sha.Hex();
  const Result<uint64_t> quarantined = session->Quarantined();
  if (!quarantined) return quarantined.status();
  summary.quarantined = *quarantined;
  if (const Status status = session->Close(); !status.ok()) return status;
  return summary;
}

// Quotes text as a JSON string: the delivery reason may contain messages from elsewhere.
std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return quoted + "\"";
}

// Prints for people. With --json, prints JSON to standard output and the rest to standard error.
void Print(const Summary& summary, const EpochOptions& options) {
  std::FILE* const shown = options.json ? stderr : stdout;
  std::fprintf(shown,
               "samples      %" PRIu64 "\nbatches      %" PRIu64
               "\nimages/s     %.1f\nquarantined  %" PRIu64
               "\ndelivery     %s (%s)\nsha256       %s\n",
               summary.samples, summary.batches, summary.images_per_second(), summary.quarantined,
               summary.delivery.c_str(), summary.reason.c_str(), summary.sha256.c_str());
  if (!options.json) return;
  std::printf("{\"samples\": %" PRIu64 ", \"batches\": %" PRIu64
              ", \"images_per_second\": %.1f, \"quarantined\": %" PRIu64
              ", \"delivery\": \"%s\", \"delivery_reason\": %s, \"sha256\": \"%s\"}\n",
              summary.samples, summary.batches, summary.images_per_second(), summary.quarantined,
              summary.delivery.c_str(), Quoted(summary.reason).c_str(), summary.sha256.c_str());
}

}  // namespace
}  // namespace penstock::examples

int main(int argc, char** argv) {
  using namespace penstock::examples;
  const penstock::Result<EpochOptions> options = ParseEpochOptions(argc, argv);
  if (!options) {
    std::fprintf(stderr, "%s\n", options.status().message().c_str());
    return 2;
  }
  if (options->help) {
    std::fputs(kEpochUsage, stdout);
    return 0;
  }
  const penstock::Result<Summary> summary = Run(*options);
  if (!summary) {
    std::fprintf(stderr, "penstock-example-epoch: %s\n", summary.status().ToString().c_str());
    return summary.status().code() == penstock::Code::kInvalidArgument ? 2 : 1;
  }
  Print(*summary, *options);
  return 0;
}
