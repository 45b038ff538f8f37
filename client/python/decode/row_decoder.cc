#include "client/python/decode/row_decoder.h"

#include <algorithm>

#include "client/python/src/gil.h"

namespace nb = nanobind;
using penstock::base::Fault;
using penstock::decode::Decoder;
using penstock::decode::Geometry;
using penstock::decode::RowBytes;
using penstock::decode::Spec;

namespace penstock::python::decode {
namespace {

std::span<const std::byte> ToSpan(const Bytes& bytes) {
  return std::as_bytes(std::span(bytes.data(), bytes.size()));
}

nb::object ToName(Fault fault) {
  const absl::string_view name = base::FaultName(fault);
  return nb::str(name.data(), name.size());
}

}  // namespace

// Holds the decoder for one call.
class RowDecoder::Turn {
 public:
  explicit Turn(RowDecoder& decoder) : decoder_(decoder) {
    if (decoder_.busy_.exchange(true, std::memory_order_acquire)) {
      throw nb::value_error("Decoder: another thread is decoding with it; use one for each thread");
    }
  }
  ~Turn() { decoder_.busy_.store(false, std::memory_order_release); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  RowDecoder& decoder_;
};

// A resize of the shorter side to its own length, and a crop of everything, leave an image as it
// is: every output pixel has one input, of weight 1.
Fault RowDecoder::Resolve(std::span<const std::byte> file, const RowSpec& spec, Spec* resolved) {
  *resolved = spec.spec;
  if (!spec.whole) return Fault::kNone;
  Decoder::Size size;
  const Fault fault = decoder_.ReadHeader(file, spec.spec.exif, &size);
  resolved->geometry = Geometry::kResizeCenterCrop;
  resolved->resize = std::min(size.width, size.height);
  resolved->width = size.width;
  resolved->height = size.height;
  return fault;
}

nb::object RowDecoder::Shape(const Bytes& file, const RowSpec& spec) {
  const Turn turn(*this);
  Spec resolved;
  const Fault fault = Resolve(ToSpan(file), spec, &resolved);
  if (fault != Fault::kNone) return ToName(fault);
  return nb::make_tuple(resolved.height, resolved.width, penstock::decode::Channels(resolved));
}

nb::object RowDecoder::Decode(const Bytes& file, const RowSpec& spec, uint64_t seed, uint64_t epoch,
                              uint64_t sample, const WritableBytes& row) {
  const Turn turn(*this);
  const std::span<const std::byte> bytes = ToSpan(file);
  const auto into = std::as_writable_bytes(std::span(row.data(), row.size()));
  bool fits = true;
  const Fault fault = [&] {
    const WithoutGil released;
    Spec resolved;
    const Fault unread = Resolve(bytes, spec, &resolved);
    fits = unread != Fault::kNone || into.size() == RowBytes(resolved);
    if (unread != Fault::kNone || !fits) return unread;
    return decoder_.DecodeRow(bytes, resolved, {seed, epoch, sample}, into);
  }();
  if (!fits)
    throw nb::value_error("decode: the buffer's size is not the row's; ask shape() for it");
  return fault == Fault::kNone ? nb::none() : ToName(fault);
}

void BindDecoder(nb::module_& module) {
  const auto make = [](RowDecoder* decoder, uint64_t max_bytes, uint64_t max_pixels,
                       uint64_t max_scans) {
    new (decoder) RowDecoder({max_bytes, max_pixels, max_scans});
  };
  nb::class_<RowDecoder>(module, "Decoder",
                         "Decodes images in this process, for one thread at a time.")
      .def("__init__", make, nb::arg("max_bytes"), nb::arg("max_pixels"), nb::arg("max_scans"))
      .def("shape", &RowDecoder::Shape, nb::arg("data"), nb::arg("spec"),
           "(height, width, channels) of the row, or the name of what is wrong with the image.")
      .def("decode_row", &RowDecoder::Decode, nb::arg("data"), nb::arg("spec"), nb::arg("seed"),
           nb::arg("epoch"), nb::arg("sample"), nb::arg("row"),
           "Fills a buffer of bytes with the row. None, or the name of what is wrong with the "
           "image; the buffer's bytes are then unspecified. Releases the GIL.");
}

}  // namespace penstock::python::decode
