// What a shelf has, as text.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "server/checkpoints/shelf.h"

namespace penstock::checkpoints {

inline std::string Taken(const CheckpointShelf& shelf, uint64_t sample) {
  std::string text(shelf.room(), '?');
  text.resize(shelf.Take(sample, std::as_writable_bytes(std::span(text))));
  return text;
}

}  // namespace penstock::checkpoints
