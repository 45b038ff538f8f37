#include "client/python/src/client.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "client/python/src/errors.h"
#include "client/python/src/gil.h"
#include "client/python/src/session.h"
#include "penstock/penstock.h"

namespace nb = nanobind;

namespace penstock::python {
namespace {

constexpr double kLongestWait = 1e9;  // seconds

// Runs Python's signal handlers. If one raises, the call ends, and the exception is raised on
// return.
bool Interrupted() {
  const WithoutGil::Back acquired;
  return PyErr_CheckSignals() != 0;
}

std::unique_ptr<Client> Connect(const std::string& address, bool start_private, bool only_private,
                                const std::string& name, double connect_timeout) {
  const auto wait = std::chrono::milliseconds(
      static_cast<int64_t>(std::clamp(connect_timeout, 0.0, kLongestWait) * 1000));
  Result<Client> client = [&] {
    const WithoutGil released;
    return Client::Connect({address, start_private, name, only_private, Interrupted, wait});
  }();
  return std::make_unique<Client>(ValueOf(std::move(client)));
}

std::unique_ptr<HeldSession> Open(Client& client, const SessionOptions& options) {
  Result<Session> session = [&] {
    const WithoutGil released;
    return client.Open(options);
  }();
  return std::make_unique<HeldSession>(ValueOf(std::move(session)));
}

nb::tuple Describe(Client& client, const std::string& dataset) {
  Result<DatasetInfo> info = [&] {
    const WithoutGil released;
    return client.Describe(dataset);
  }();
  const DatasetInfo value = ValueOf(std::move(info));
  const Shape& row = value.row_shape;
  nb::list targets;
  for (const Field& field : value.fields) targets.append(field.target);
  return nb::make_tuple(value.name, value.samples, value.classes, value.kind,
                        nb::make_tuple(row.height, row.width, row.channels),
                        ToTensorList(value.fields), value.decoded, value.labeled,
                        value.first_sample, value.epoch_samples, std::move(targets), value.digest);
}

std::string ContentDigest(Client& client, const std::string& dataset) {
  Result<std::string> digest = [&] {
    const WithoutGil released;
    return client.ContentDigest(dataset);
  }();
  return ValueOf(std::move(digest));
}

nb::tuple Bad(Client& client, const std::string& dataset) {
  Result<BadSamples> asked = [&] {
    const WithoutGil released;
    return client.Bad(dataset);
  }();
  const BadSamples bad = ValueOf(std::move(asked));
  return nb::make_tuple(bad.total, bad.path, bad.reason);
}

nb::list Samples(Client& client, const std::string& dataset, const std::vector<uint64_t>& ids) {
  Result<std::vector<SampleInfo>> infos = [&] {
    const WithoutGil released;
    return client.Samples(dataset, ids);
  }();
  nb::list pairs;
  for (const SampleInfo& info : ValueOf(std::move(infos))) {
    pairs.append(nb::make_tuple(info.path, info.label));
  }
  return pairs;
}

// (path as bytes, offset, bytes, label) of each sample's image; None where it is no part of a file.
nb::list Extents(Client& client, const std::string& dataset, const std::vector<uint64_t>& ids) {
  Result<std::vector<SampleInfo>> infos = [&] {
    const WithoutGil released;
    return client.Samples(dataset, ids);
  }();
  nb::list extents;
  for (const SampleInfo& info : ValueOf(std::move(infos))) {
    if (!info.extent) {
      extents.append(nb::none());
      continue;
    }
    const auto& [file, offset, bytes] = *info.extent;
    extents.append(nb::make_tuple(nb::bytes(file.data(), file.size()), offset, bytes, info.label));
  }
  return extents;
}

}  // namespace

void BindClient(nb::module_& module) {
  nb::class_<Client>(module, "Client", "A connection to this node's daemon.")
      .def_static("connect", &Connect, nb::arg("address") = "", nb::arg("start_private") = false,
                  nb::arg("only_private") = false, nb::arg("name") = "",
                  nb::arg("connect_timeout") = 0.0)
      .def_prop_ro("address", &Client::address)
      .def_prop_ro("is_private", &Client::is_private)
      .def("open", &Open, nb::arg("options"))
      .def("describe", &Describe, nb::arg("dataset"),
           "(name, samples, classes, kind, (height, width, channels) of images that need no "
           "decoding or zeros, [(name, type, shape, whether its length varies)], decoded, labeled, "
           "first sample, samples in an epoch, [Target of each field], digest)")
      .def("content_digest", &ContentDigest, nb::arg("dataset"),
           "SHA-256 of all content, in hexadecimal; the daemon reads every byte for it")
      .def("bad", &Bad, nb::arg("dataset"),
           "(number of samples that could not be used so far, path and reason of one of them)")
      .def("samples", &Samples, nb::arg("dataset"), nb::arg("ids"), "(path, label) of each sample")
      .def("extents", &Extents, nb::arg("dataset"), nb::arg("ids"),
           "(file's path as bytes, offset, bytes, label) of each sample's encoded image; offset 0 "
           "means the whole file; None if the image is not the bytes of a part of a file");
}

}  // namespace penstock::python
