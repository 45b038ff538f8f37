// Arbitrary bytes as the daemon's configuration: either refused with one line that names the file,
// or accepted with values that the rest of the daemon can rely on.
#include <cstdint>
#include <string>

#include "common/base/check.h"
#include "server/app/config/config.h"
#include "server/app/config/config_diff.h"

namespace app = penstock::app;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto config = app::ParseConfig(text, "fuzz.yaml");
  if (!config.ok()) {
    const std::string words(config.status().message());
    PENSTOCK_CHECK(words.starts_with("fuzz.yaml") && words.find('\n') == std::string::npos);
    return 0;
  }
  const penstock::posix::Machine machine = {};
  PENSTOCK_CHECK(app::WorkerCount(*config, machine) >= 1);
  PENSTOCK_CHECK(app::RowCopierCount(*config, machine) >= 1);
  PENSTOCK_CHECK(app::Compare(*config, *config).empty());
  for (const app::ConfigChange& change : app::Compare(app::DefaultConfig(), *config))
    PENSTOCK_CHECK(!change.ToString().empty());
  for (const auto& dataset : config->datasets())
    if (dataset.has_tokens()) app::ToSpec(dataset.tokens()).IgnoreError();
  return 0;
}
