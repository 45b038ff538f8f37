// What every function of the C API does at its border.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "penstock/c_types.h"
#include "penstock/status.h"

namespace penstock::c {

// A struct's size in the first version that had it, which is the smallest that a caller can have.
// Specialise it with the number when the struct grows.
template <typename Struct>
inline constexpr size_t kFirstSize = sizeof(Struct);

// Writes the status to `error`, which may be null, and returns its code.
int32_t Report(const Status& status, penstock_error* error);

// Runs a function's body, which returns a Status. Exceptions end here.
template <typename Body>
int32_t Guarded(penstock_error* error, Body body) noexcept {
  try {
    return Report(body(), error);
  } catch (const std::bad_alloc&) {
    return Report(Status(Code::kResourceExhausted, ""), error);  // without an allocation
  } catch (const std::exception& thrown) {
    return Report(Status(Code::kInternal, thrown.what()), error);
  } catch (...) {
    return Report(Status(Code::kInternal, ""), error);
  }
}

// InvalidArgument: a required argument is null.
Status Missing(const char* argument);

// The checks of ReadStruct, whatever the struct.
Status CopyStruct(const char* type, const void* from, size_t first, size_t known, void* into);

// Copies a caller's struct, of this version or another; what an older caller lacks is 0.
//
// **Errors**: InvalidArgument: null, a size below the first version's, or a field that is not 0 and
// that this version does not know.
template <typename Struct>
Status ReadStruct(const char* type, const Struct* from, Struct& into) {
  into = {};
  return CopyStruct(type, from, kFirstSize<Struct>, sizeof(Struct), &into);
}

// Checks a struct that the library fills.
Status CheckSize(const char* type, const void* into, size_t first);

// Fills the caller's struct within its size. What a newer caller has in addition becomes 0.
template <typename Struct>
Status WriteStruct(const char* type, Struct value, Struct* into) {
  if (Status checked = CheckSize(type, into, kFirstSize<Struct>); !checked.ok()) return checked;
  const size_t size = into->struct_size;
  value.struct_size = size;
  std::memcpy(static_cast<void*>(into), &value, std::min(size, sizeof(Struct)));
  if (size > sizeof(Struct)) {
    std::memset(reinterpret_cast<char*>(into) + sizeof(Struct), 0, size - sizeof(Struct));
  }
  return {};
}

// Copies a text and its NUL byte, cut to `bytes` at the end of a character. **Requires**: bytes >
// 0.
void CopyText(const std::string& text, char* into, size_t bytes);

}  // namespace penstock::c
