// A cache-line-aligned byte buffer that grows on request. It is zeroed initially; growing discards
// its content. **Errors**: std::bad_alloc; then it is as before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

namespace penstock::base {

class AlignedBuffer {
 public:
  static constexpr size_t kAlignment = 64;

  // Ensures a size of at least `bytes`.
  void Reserve(size_t bytes) {
    if (bytes <= capacity_) return;
    data_.reset(static_cast<uint8_t*>(::operator new[](bytes, std::align_val_t{kAlignment})));
    std::memset(data_.get(), 0, bytes);
    capacity_ = bytes;
  }
  uint8_t* data() const { return data_.get(); }

 private:
  struct Delete {
    void operator()(uint8_t* bytes) const {
      ::operator delete[](bytes, std::align_val_t{kAlignment});
    }
  };
  std::unique_ptr<uint8_t[], Delete> data_;
  size_t capacity_ = 0;
};

inline size_t RoundUp(size_t value, size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace penstock::base
