// The bytes of a file in an object store, which an indexer cannot reach: it asks the daemon for
// them.
// **Ownership**: of one question. **Thread safety**: one thread.
#pragma once

#include <cstdint>
#include <span>

#include "server/indexer/program/answer.h"
#include "server/source/files/byte_source.h"

namespace penstock::indexer {

class RemoteBytes final : public source::ByteSource {
 public:
  RemoteBytes(const DaemonLine& line, uint64_t number) : line_(line), number_(number) {}

  // **Errors**: Unavailable once the daemon has closed its end; Internal if it sent something else.
  // If it cannot get the bytes, it ends this process.
  absl::Status Read(uint64_t offset, std::span<std::byte> into) const override;

 private:
  absl::Status ReadSome(uint64_t offset, std::span<std::byte> into) const;

  const DaemonLine& line_;
  const uint64_t number_;
};

}  // namespace penstock::indexer
