// libjpeg's header, which expects that its user has named FILE and size_t before.
#pragma once

// clang-format off
#include <cstddef>
#include <cstdio>
#include <jpeglib.h>
// clang-format on
