// libjpeg's headers, which require that FILE and size_t are already declared.
#pragma once

// clang-format off
#include <cstddef>
#include <cstdio>
#include <jpeglib.h>
#ifndef PENSTOCK_LIBJPEG_ALONE
#include <jpegint.h>  // private: the interfaces between libjpeg's modules
#endif
// clang-format on
