#include "server/rpc/remote/tls_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/posix/fd.h"

namespace penstock::rpc {
namespace {

constexpr size_t kLargestPem = 1 << 20;

absl::StatusOr<std::string> ReadSmallFile(const std::string& path) {
  PENSTOCK_ASSIGN_OR_RETURN(const posix::Fd file, posix::OpenRegular(path));
  std::string text(kLargestPem + 1, '\0');
  size_t size = 0;
  for (ssize_t got = 1; got != 0 && size < text.size();) {
    got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno != EINTR) return base::ErrnoStatus(errno, "read");
    if (got > 0) size += static_cast<size_t>(got);
  }
  text.resize(size);
  if (size > kLargestPem) return absl::InvalidArgumentError("it is larger than 1 MiB");
  return text;
}

// `block`: the end of the PEM blocks' first line.
absl::StatusOr<std::string> ReadPem(const std::string& key, const std::string& path,
                                    absl::string_view block) {
  absl::StatusOr<std::string> text = ReadSmallFile(path);
  if (text.ok() && !(absl::StrContains(*text, "-----BEGIN ") && absl::StrContains(*text, block)))
    text = absl::InvalidArgumentError(absl::StrCat("it has no '", block, "' block in PEM"));
  if (text.ok()) return text;
  return absl::FailedPreconditionError(absl::StrCat("server.", key, ": '", path,
                                                    "': ", text.status().message(),
                                                    "; name a PEM file that the daemon can read"));
}

void AddIdentity(const std::string& path, std::vector<uint64_t>& identity) {
  struct stat now = {};
  if (::stat(path.c_str(), &now) != 0) return identity.push_back(static_cast<uint64_t>(errno));
  for (const auto part :
       {static_cast<uint64_t>(now.st_dev), static_cast<uint64_t>(now.st_ino),
        static_cast<uint64_t>(now.st_size), static_cast<uint64_t>(now.st_mtim.tv_sec),
        static_cast<uint64_t>(now.st_mtim.tv_nsec)})
    identity.push_back(part);
}

}  // namespace

absl::StatusOr<TlsTexts> ReadTls(const TlsPaths& paths) {
  TlsTexts texts;
  PENSTOCK_ASSIGN_OR_RETURN(texts.certificate,
                            ReadPem("admin_certificate", paths.certificate, "CERTIFICATE-----"));
  PENSTOCK_ASSIGN_OR_RETURN(texts.key, ReadPem("admin_key", paths.key, "PRIVATE KEY-----"));
  PENSTOCK_ASSIGN_OR_RETURN(texts.client_ca,
                            ReadPem("admin_client_ca", paths.client_ca, "CERTIFICATE-----"));
  return texts;
}

bool TlsFiles::HaveChanged() {
  std::vector<uint64_t> now;
  for (const std::string* path : {&paths_.certificate, &paths_.key, &paths_.client_ca})
    AddIdentity(*path, now);
  if (now == seen_) return false;
  seen_ = std::move(now);
  return true;
}

}  // namespace penstock::rpc
