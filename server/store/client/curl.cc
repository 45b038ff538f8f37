#include "server/store/client/curl.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"

namespace penstock::store {
namespace {

constexpr unsigned kOldest = 0x075600;  // 7.86: its signatures, CURLOPT_PROTOCOLS_STR
constexpr char kRemedy[] = "install libcurl 7.86 or newer (Debian and Ubuntu: libcurl4)";

// Looks functions up and remembers the first that is missing.
class Symbols {
 public:
  explicit Symbols(void* library) : library_(library) {}

  template <typename Function>
  void Read(const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library_, name));
    if (function == nullptr && missing_ == nullptr) missing_ = name;
  }
  const char* missing() const { return missing_; }

 private:
  void* const library_;
  const char* missing_ = nullptr;
};

absl::Status Missing(absl::string_view what) {
  return absl::FailedPreconditionError(
      absl::StrCat("reading from stores needs libcurl: ", what, "; ", kRemedy));
}

absl::StatusOr<Curl> LoadFrom(const char* name) {
  void* const library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) return Missing(::dlerror());
  Symbols symbols(library);
  decltype(&::curl_version_info) version_info = nullptr;
  decltype(&::curl_global_init) global_init = nullptr;
  Curl curl;
  symbols.Read("curl_version_info", version_info);
  symbols.Read("curl_global_init", global_init);
  symbols.Read("curl_easy_init", curl.easy_init);
  symbols.Read("curl_easy_cleanup", curl.easy_cleanup);
  symbols.Read("curl_easy_setopt", curl.easy_setopt);
  symbols.Read("curl_easy_getinfo", curl.easy_getinfo);
  symbols.Read("curl_easy_strerror", curl.easy_strerror);
  symbols.Read("curl_slist_append", curl.slist_append);
  symbols.Read("curl_slist_free_all", curl.slist_free_all);
  symbols.Read("curl_multi_init", curl.multi_init);
  symbols.Read("curl_multi_cleanup", curl.multi_cleanup);
  symbols.Read("curl_multi_setopt", curl.multi_setopt);
  symbols.Read("curl_multi_add_handle", curl.multi_add_handle);
  symbols.Read("curl_multi_remove_handle", curl.multi_remove_handle);
  symbols.Read("curl_multi_socket_action", curl.multi_socket_action);
  symbols.Read("curl_multi_info_read", curl.multi_info_read);
  if (symbols.missing() != nullptr) return Missing(absl::StrCat("it has no ", symbols.missing()));
  const curl_version_info_data* const version = version_info(CURLVERSION_NOW);
  if (version->version_num < kOldest) return Missing(absl::StrCat("it is ", version->version));
  if (global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return Missing("it cannot be initialised");
  return curl;
}

}  // namespace

absl::StatusOr<const Curl*> Curl::Load(const char* library) {
  static const absl::StatusOr<Curl> loaded = LoadFrom(library);
  PENSTOCK_RETURN_IF_ERROR(loaded.status());
  return &*loaded;
}

}  // namespace penstock::store
