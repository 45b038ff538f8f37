// libcurl's functions. The library is loaded when a store is first used, so only those who read
// from stores need it.
#pragma once

#include <curl/curl.h>

#include "common/base/status.h"

namespace penstock::store {

struct Curl {
  decltype(&::curl_easy_init) easy_init = nullptr;
  decltype(&::curl_easy_cleanup) easy_cleanup = nullptr;
  decltype(&::curl_easy_setopt) easy_setopt = nullptr;
  decltype(&::curl_easy_getinfo) easy_getinfo = nullptr;
  decltype(&::curl_easy_strerror) easy_strerror = nullptr;
  decltype(&::curl_slist_append) slist_append = nullptr;
  decltype(&::curl_slist_free_all) slist_free_all = nullptr;
  decltype(&::curl_multi_init) multi_init = nullptr;
  decltype(&::curl_multi_cleanup) multi_cleanup = nullptr;
  decltype(&::curl_multi_setopt) multi_setopt = nullptr;
  decltype(&::curl_multi_add_handle) multi_add_handle = nullptr;
  decltype(&::curl_multi_remove_handle) multi_remove_handle = nullptr;
  decltype(&::curl_multi_socket_action) multi_socket_action = nullptr;
  decltype(&::curl_multi_info_read) multi_info_read = nullptr;

  // Loads `library` as the loader finds it, once for the process, and never unloads it.
  // **Errors**: FailedPrecondition: it is missing or too old; says what to install.
  static absl::StatusOr<const Curl*> Load(const char* library = "libcurl.so.4");
};

}  // namespace penstock::store
