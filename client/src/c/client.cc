// The C API: versions, clients, datasets.
#include <utility>

#include "client/src/c/boundary.h"
#include "client/src/c/handles.h"
#include "client/src/c/options.h"

namespace {

using penstock::Code;
using penstock::Result;
using penstock::Status;
using penstock::c::Guarded;
using penstock::c::Missing;
using penstock::c::WriteStruct;

penstock_dataset_info FromDataset(const penstock::DatasetInfo& info) {
  return {.struct_size = sizeof(penstock_dataset_info),
          .kind = info.kind.c_str(),
          .samples = info.samples,
          .first_sample = info.first_sample,
          .epoch_samples = info.epoch_samples,
          .classes = static_cast<uint32_t>(info.classes.size()),
          .fields = static_cast<uint32_t>(info.fields.size()),
          .height = info.row_shape.height,
          .width = info.row_shape.width,
          .channels = info.row_shape.channels,
          .decoded = info.decoded,
          .labeled = info.labeled,
          .reserved = 0};
}

}  // namespace

const char* penstock_version(void) { return PENSTOCK_VERSION; }

const char* penstock_code_name(int32_t code) { return penstock::CodeName(static_cast<Code>(code)); }

int32_t penstock_connect(const penstock_client_options* options, penstock_client** client,
                         penstock_error* error) {
  return Guarded(error, [&]() -> Status {
    if (client == nullptr) return Missing("client");
    *client = nullptr;
    Result<penstock::ClientOptions> wanted = penstock::c::ToClientOptions(options);
    if (!wanted) return wanted.status();
    Result<penstock::Client> connected = penstock::Client::Connect(*wanted);
    if (!connected) return connected.status();
    *client = new penstock_client{std::move(*connected)};
    return {};
  });
}

const char* penstock_address(const penstock_client* client) {
  return client == nullptr ? "" : client->client.address().c_str();
}

void penstock_disconnect(penstock_client* client) { delete client; }

int32_t penstock_describe(penstock_client* client, const char* dataset,
                          penstock_dataset** description, penstock_error* error) {
  return Guarded(error, [&]() -> Status {
    if (description == nullptr) return Missing("description");
    *description = nullptr;
    if (client == nullptr) return Missing("client");
    if (dataset == nullptr) return Missing("dataset");
    Result<penstock::DatasetInfo> info = client->client.Describe(dataset);
    if (!info) return info.status();
    *description = new penstock_dataset{std::move(*info)};
    return {};
  });
}

int32_t penstock_dataset_get(const penstock_dataset* dataset, penstock_dataset_info* info,
                             penstock_error* error) {
  return Guarded(error, [&]() -> Status {
    if (dataset == nullptr) return Missing("dataset");
    return WriteStruct("penstock_dataset_info", FromDataset(dataset->info), info);
  });
}

const char* penstock_dataset_class(const penstock_dataset* dataset, uint32_t label) {
  if (dataset == nullptr || label >= dataset->info.classes.size()) return nullptr;
  return dataset->info.classes[label].c_str();
}

int32_t penstock_dataset_field(const penstock_dataset* dataset, uint32_t field,
                               penstock_tensor_info* info, penstock_error* error) {
  return Guarded(error, [&]() -> Status {
    if (dataset == nullptr) return Missing("dataset");
    if (field >= dataset->info.fields.size())
      return {Code::kInvalidArgument, "the dataset has no field " + std::to_string(field)};
    return WriteStruct("penstock_tensor_info", penstock::c::FromField(dataset->info.fields[field]),
                       info);
  });
}

void penstock_dataset_free(penstock_dataset* dataset) { delete dataset; }
