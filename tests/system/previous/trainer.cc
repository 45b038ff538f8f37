// penstock-compat-trainer ADDRESS DATASET BATCHES [STATE]: takes BATCHES batches (0: a whole
// epoch), starting at STATE. Prints one line per batch with its content, and finally the session's
// state. It uses only public headers, because it is also compiled against the previous release and
// the outputs are compared.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "penstock/penstock.h"

namespace {

// FNV-1a.
template <typename Bytes>
uint64_t Hash(const Bytes& values, uint64_t hash = 0xcbf29ce484222325) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
  for (size_t i = 0; i < values.size_bytes(); ++i) hash = (hash ^ bytes[i]) * 0x100000001b3;
  return hash;
}

int Fail(const penstock::Status& status) {
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}

int Train(penstock::Session& session, uint64_t batches) {
  for (uint64_t i = 0; batches == 0 || i < batches; ++i) {
    const auto batch = session.Next(std::chrono::seconds(30));
    if (batch.status().code() == penstock::Code::kEndOfData) break;
    if (batch.status().code() == penstock::Code::kEndOfEpoch) continue;
    if (!batch) return Fail(batch.status());
    std::printf("batch %" PRIu64 " %016" PRIx64 " %016" PRIx64 "\n", batch->step(),
                Hash(batch->images()), Hash(batch->labels(), Hash(batch->sample_ids())));
  }
  std::printf("state %s\n", session.state().ToString().c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) return 2;
  penstock::SessionOptions options;
  options.dataset = argv[2];
  options.batch_size = 16;
  options.seed = 7;
  options.epochs = 1;
  options.flip_probability = 0.5;
  options.name = "compat";
  options.random_crop = penstock::RandomResizedCrop{.height = 64, .width = 64};
  if (argc == 5) {
    auto state = penstock::State::FromString(argv[4]);
    if (!state) return Fail(state.status());
    options.state = *state;
  }
  auto client = penstock::Client::Connect({.address = argv[1]});
  if (!client) return Fail(client.status());
  auto session = client->Open(options);
  if (!session) return Fail(session.status());
  return Train(*session, std::strtoull(argv[3], nullptr, 10));
}
