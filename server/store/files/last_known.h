// What stores said about objects and folders when they last answered, so that datasets whose bytes
// are in the cache can be opened while a store is away. It is kept in a file beside them.
//
// It is used only instead of an answer that did not come, never to save one: so it is as new as the
// last answer, and objects are still read in that version and no other.
// **Thread safety**: any thread. Calls read and write the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "server/store/client/store_request.h"

namespace penstock::store {

class LastKnown {
 public:
  // `path`: of the file, which one process at a time may use; empty: nothing is kept. What of it
  // cannot be read is not known.
  explicit LastKnown(std::string path);

  // `what`: names the object or the folder, and the store that it is in.
  void NoteVersion(const std::string& what, const ObjectVersion& version);
  std::optional<ObjectVersion> FindVersion(const std::string& what) const;
  // That the store said that there is no such object. A later version takes this back.
  void NoteAbsent(const std::string& what);
  bool IsAbsent(const std::string& what) const;
  void NoteNames(const std::string& what, const std::vector<std::string>& names);
  std::optional<std::vector<std::string>> FindNames(const std::string& what) const;

  // Bytes of one version of an object, which opening it reads; `what` names the version, too. Where
  // 64 MiB are kept already, no more are.
  void NoteBytes(const std::string& what, std::span<const std::byte> bytes);
  // Fills `into`. False: they are not known.
  bool FindBytes(const std::string& what, std::span<std::byte> into) const;

  // Writes the file anew if somebody else has removed or changed it.
  void Mend();

  // Whether a store, named by its bucket or host, did not answer a moment ago, so that asking it
  // again would only take time.
  bool IsAway(const std::string& where) const;
  void NoteAway(const std::string& where);
  void NoteAnswer(const std::string& where);

 private:
  // What tells the file from one that somebody else has changed or removed.
  struct KnownStamp {
    uint64_t inode = 0, bytes = 0;
    int64_t changed_ns = 0;
    bool operator==(const KnownStamp&) const = default;
  };

  void Load();
  KnownStamp StampOfFile() const;
  void WriteAnew() PENSTOCK_REQUIRES(mutex_);
  void Note(const std::string& what, const std::string& text);
  std::optional<std::string> Find(const std::string& what) const;

  const std::string path_;
  mutable base::Mutex mutex_;
  // By a hash of `what`; a text that ToText or names gave.
  absl::flat_hash_map<uint64_t, std::string> known_ PENSTOCK_GUARDED_BY(mutex_);
  KnownStamp stamp_ PENSTOCK_GUARDED_BY(mutex_);         // of the file, as it was written here last
  uint64_t kept_bytes_ PENSTOCK_GUARDED_BY(mutex_) = 0;  // of what NoteBytes was given
  absl::flat_hash_map<std::string, base::TimePoint> away_until_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::store
