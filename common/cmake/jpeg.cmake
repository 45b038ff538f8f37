# PENSTOCK_OWN_HUFFMAN=AUTO|ON|OFF: whether our own Huffman decoder takes the place of libjpeg's
# (server/decisions/huffman.md). It needs libjpeg's private header, whose contents differ between
# versions, so AUTO means: where that header is installed, in a version that the decoder was tested
# with. Without it libjpeg decodes alone: the same pixels, more slowly. Sets
# PENSTOCK_HAS_OWN_HUFFMAN.
set(PENSTOCK_OWN_HUFFMAN "AUTO" CACHE STRING
    "Our own Huffman decoder for JPEG: AUTO (with a libjpeg-turbo that was tested), ON, OFF")
set_property(CACHE PENSTOCK_OWN_HUFFMAN PROPERTY STRINGS AUTO ON OFF)
if(NOT PENSTOCK_OWN_HUFFMAN MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "PENSTOCK_OWN_HUFFMAN is '${PENSTOCK_OWN_HUFFMAN}'; give it AUTO, ON or OFF")
endif()

find_package(JPEG REQUIRED)
set(PENSTOCK_HAS_OWN_HUFFMAN OFF)
if(NOT PENSTOCK_OWN_HUFFMAN STREQUAL "OFF")
  # The libjpeg-turbo of Debian 12: 2.1.5 with the interface of libjpeg 6b.
  file(WRITE ${CMAKE_BINARY_DIR}/jpeg_private.cc [[
#include <cstddef>
#include <cstdio>
#include <jpeglib.h>
#include <jpegint.h>
static_assert(LIBJPEG_TURBO_VERSION_NUMBER == 2001005 && JPEG_LIB_VERSION == 62);
int main() {}
]])
  try_compile(tested ${CMAKE_BINARY_DIR}/jpeg_private ${CMAKE_BINARY_DIR}/jpeg_private.cc
              LINK_LIBRARIES JPEG::JPEG CXX_STANDARD 20)
  if(tested)
    set(PENSTOCK_HAS_OWN_HUFFMAN ON)
  elseif(PENSTOCK_OWN_HUFFMAN STREQUAL "ON")
    message(FATAL_ERROR
      "PENSTOCK_OWN_HUFFMAN=ON, but ${JPEG_INCLUDE_DIRS} has no jpegint.h, or not that of "
            "libjpeg-turbo 2.1.5, which is the version that the decoder was tested with; install it, or "
            "configure with PENSTOCK_OWN_HUFFMAN=AUTO or OFF")
  endif()
endif()
if(PENSTOCK_HAS_OWN_HUFFMAN)
  message(STATUS "JPEG: our own Huffman decoder for intact baseline files")
else()
  message(STATUS "JPEG: libjpeg decodes alone, some 30 % slower (server/decisions/huffman.md)")
endif()
