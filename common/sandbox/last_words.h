// What a process of ours that parses foreign bytes writes to standard error: kept, and read only
// after its end. A hijacked process can write anything, such as lines that look like the daemon's,
// and as much as it likes. So it gets a pipe that neither end ever waits for; what no longer fits
// is lost.
//
// **Ownership**: the daemon's, one for each process. **Thread safety**: one thread at a time.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/posix/process.h"

namespace penstock::sandbox {

class LastWords {
 public:
  // Keeps nothing: the process writes to our standard error.
  LastWords() = default;
  // In builds with sanitizers, which report on standard error, it keeps nothing either.
  // **Errors**: errno of making a pipe.
  static absl::StatusOr<LastWords> Make();

  // What the process inherits as its standard error; none if nothing is kept.
  std::optional<posix::Child::Inherited> ForChild() const;
  // Call after the process was started, so that only it can write.
  void CloseWritingEnd() { writing_.Close(); }

  // After its end, once: the first 1,024 characters, printable ones as they are, line ends as '|',
  // others as '?'. Never waits.
  std::string Take();

 private:
  posix::Fd reading_, writing_;
};

}  // namespace penstock::sandbox
