// Penstock's client in C99, for programs in C and for other languages' foreign-function
// interfaces. It is part of libpenstock.so.1 (pkg-config: penstock), over the C++ client
// (penstock.h), with the same behaviour. client/examples/trainer.c is a whole program.
//
//   penstock_connect → penstock_open → penstock_next … penstock_release … → penstock_close
//
// **Errors**: functions that can fail return a code, PENSTOCK_OK (0) on success, and take a
// `penstock_error*`, which may be NULL. No exception leaves the library, and no call raises
// SIGPIPE. NULL for a required argument is PENSTOCK_INVALID_ARGUMENT. On failure, results are
// NULL or unchanged.
// **Ownership**: handles belong to the caller, who ends each with the function that its
// type names; those accept NULL. Handles may be ended in any order: a session outlives its client,
// and a batch its session.
// **Thread safety**: a client may be used by any thread; a session and a batch by one at a time,
// except penstock_session_stats_now. A dataset never changes.
// **Fork**: handles belong to the process that made them. In a forked child calls return
// PENSTOCK_FAILED_PRECONDITION, and a handle can only be ended, which does nothing else.
// **ABI**: exported functions have the symbol version PENSTOCK_C_1, and keep their meaning while
// the library is libpenstock.so.1. Structs grow at their end (c_types.h).
//
// Only C++ and Python have: transform steps, further images, MixUp and its kind, decoding on the
// GPU, Python datasets, memory pools.
#pragma once

#include "penstock/c_types.h"
#include "penstock/export.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct penstock_client penstock_client;    // ended by penstock_disconnect
typedef struct penstock_dataset penstock_dataset;  // ended by penstock_dataset_free
typedef struct penstock_session penstock_session;  // ended by penstock_close
typedef struct penstock_batch penstock_batch;      // ended by penstock_release

// The library's version, such as "0.1.0". Static.
PENSTOCK_EXPORT const char* penstock_version(void);
// A code in words, such as "end of epoch". Static; "unknown" for other numbers.
PENSTOCK_EXPORT const char* penstock_code_name(int32_t code);

// ---- Connection

// Finds the daemon, or starts a private one if the options (NULL: defaults) allow it.
//
// **Errors**: PENSTOCK_NOT_FOUND: no daemon, with the places that were tried.
// PENSTOCK_PERMISSION_DENIED, PENSTOCK_FAILED_PRECONDITION (another version of the protocol),
// PENSTOCK_UNAVAILABLE (no answer within 5 s).
PENSTOCK_EXPORT int32_t penstock_connect(const penstock_client_options* options,
                                         penstock_client** client, penstock_error* error);
// The address of the client's daemon. Belongs to the client; "" for NULL.
PENSTOCK_EXPORT const char* penstock_address(const penstock_client* client);
PENSTOCK_EXPORT void penstock_disconnect(penstock_client* client);

// ---- Datasets

// Describes a dataset. Waits for at most 30 min: the daemon indexes it first if it has not done so.
PENSTOCK_EXPORT int32_t penstock_describe(penstock_client* client, const char* dataset,
                                          penstock_dataset** description, penstock_error* error);
PENSTOCK_EXPORT int32_t penstock_dataset_get(const penstock_dataset* dataset,
                                             penstock_dataset_info* info, penstock_error* error);
// The name of a class; NULL if there is no such class. Belongs to `dataset`.
PENSTOCK_EXPORT const char* penstock_dataset_class(const penstock_dataset* dataset, uint32_t label);
// A field that a session can request. `info` points into `dataset`.
PENSTOCK_EXPORT int32_t penstock_dataset_field(const penstock_dataset* dataset, uint32_t field,
                                               penstock_tensor_info* info, penstock_error* error);
PENSTOCK_EXPORT void penstock_dataset_free(penstock_dataset* dataset);

// ---- Sessions

// Opens a session: one trainer process attached to a feed.
//
// **Errors**: PENSTOCK_INVALID_ARGUMENT: the options contradict each other or the dataset.
// PENSTOCK_NOT_FOUND: no such dataset. PENSTOCK_FAILED_PRECONDITION: the state is of another feed.
// PENSTOCK_RESOURCE_EXHAUSTED: a limit of the daemon.
PENSTOCK_EXPORT int32_t penstock_open(penstock_client* client,
                                      const penstock_session_options* options,
                                      penstock_session** session, penstock_error* error);
PENSTOCK_EXPORT int32_t penstock_session_get(const penstock_session* session,
                                             penstock_session_info* info, penstock_error* error);
// The tensor at this index of each batch; images, if any, come first. `info` points into `session`.
PENSTOCK_EXPORT int32_t penstock_session_tensor(const penstock_session* session, uint32_t tensor,
                                                penstock_tensor_info* info, penstock_error* error);
// The position after the last batch that was taken; keep it in a checkpoint.
PENSTOCK_EXPORT int32_t penstock_session_state(const penstock_session* session,
                                               penstock_state* state, penstock_error* error);
// Counts so far, and a verdict. Asks the daemon, for at most a second.
//
// **Thread safety**: any thread, even while another one is in penstock_next.
PENSTOCK_EXPORT int32_t penstock_session_stats_now(penstock_session* session,
                                                   penstock_session_stats* stats,
                                                   penstock_error* error);
// Writes why batches are delivered as they are, and its NUL byte, to `text`; cut if it is longer.
PENSTOCK_EXPORT int32_t penstock_delivery_reason(const penstock_session* session, char* text,
                                                 size_t bytes, penstock_error* error);
// Closes the session, within a second. Its batches stay valid.
PENSTOCK_EXPORT void penstock_close(penstock_session* session);

// Writes a state as one line with its NUL byte; 160 bytes are enough.
//
// **Errors**: PENSTOCK_INVALID_ARGUMENT if it does not fit.
PENSTOCK_EXPORT int32_t penstock_state_to_text(const penstock_state* state, char* text,
                                               size_t bytes, penstock_error* error);
PENSTOCK_EXPORT int32_t penstock_state_from_text(const char* text, penstock_state* state,
                                                 penstock_error* error);

// ---- Batches

// Returns the next batch, waiting for at most `timeout_ms` (PENSTOCK_DEFAULT_TIMEOUT: 5 min; 0:
// does not wait). A batch that is ready costs one small allocation and no system call.
//
// **Errors**: PENSTOCK_END_OF_EPOCH, once after each epoch's last batch. PENSTOCK_END_OF_DATA,
// after the last epoch. PENSTOCK_UNAVAILABLE: the daemon has died; the next call reconnects and
// asks for the same batch. PENSTOCK_DEADLINE_EXCEEDED: the message names the slow stage.
// PENSTOCK_RESOURCE_EXHAUSTED: all batches that this session may hold are held; release one.
// PENSTOCK_DATA_LOSS and others: the feed failed, for good.
PENSTOCK_EXPORT int32_t penstock_next(penstock_session* session, int64_t timeout_ms,
                                      penstock_batch** batch, penstock_error* error);

// Waits until penstock_next returns a batch or an error without waiting; sets `ready` to 1 if it
// does, to 0 if `timeout_ms` ran out. If all batches that the session may hold are held, that is an
// error after a second of waiting.
PENSTOCK_EXPORT int32_t penstock_wait_ready(penstock_session* session, int64_t timeout_ms,
                                            int32_t* ready, penstock_error* error);

// The numbers of a batch, and its images, labels and sample ids in host memory.
PENSTOCK_EXPORT int32_t penstock_batch_get(const penstock_batch* batch, penstock_batch_info* info,
                                           penstock_error* error);
// One tensor of a batch, in host memory or on its GPU, valid until the batch is released.
PENSTOCK_EXPORT int32_t penstock_batch_tensor(const penstock_batch* batch, uint32_t tensor,
                                              penstock_tensor_view* view, penstock_error* error);
// Copies the stored images into host memory, from wherever they are, and waits for the copy.
PENSTOCK_EXPORT int32_t penstock_copy_images(const penstock_batch* batch, void* into, size_t bytes,
                                             penstock_error* error);

// Bytes of the images of a batch after this finish; 0 for NULL and for a finish that is invalid.
PENSTOCK_EXPORT size_t penstock_finished_bytes(const penstock_batch* batch,
                                               const penstock_finish* finish);
// Finishes a batch in host memory into `into`. The batch is still held.
PENSTOCK_EXPORT int32_t penstock_finish_into(const penstock_batch* batch,
                                             const penstock_finish* finish, void* into,
                                             size_t bytes, penstock_error* error);

// Releases the slot, if that has not been done, and frees the handle. If penstock_batch_device
// was called, waits for all work of the device; penstock_release_on_stream avoids that.
PENSTOCK_EXPORT void penstock_release(penstock_batch* batch);

// ---- On a GPU. A stream is a cudaStream_t of the session's device, in CUDA's own encoding; NULL
// is the legacy default stream. Sessions in host memory accept these calls and ignore streams.

// As penstock_next; if the batch is still being copied, the stream waits for it, not the host.
PENSTOCK_EXPORT int32_t penstock_next_on_stream(penstock_session* session, void* stream,
                                                int64_t timeout_ms, penstock_batch** batch,
                                                penstock_error* error);
// Takes the next batch, finishes it into `into` and releases it, all in stream order. `info` gets
// its numbers; NULL: not wanted. **Requires**: room for a full batch.
PENSTOCK_EXPORT int32_t penstock_next_into(penstock_session* session, const penstock_finish* finish,
                                           const penstock_into* into, void* stream,
                                           int64_t timeout_ms, penstock_batch_info* info,
                                           penstock_error* error);
// Finishes the batch into `into` and releases its slot, in stream order and without waiting. The
// handle keeps the numbers, and still ends with penstock_release. On failure the slot is held.
PENSTOCK_EXPORT int32_t penstock_finish_on_stream(penstock_batch* batch,
                                                  const penstock_finish* finish,
                                                  const penstock_into* into, void* stream,
                                                  penstock_error* error);
// The stored images and labels in GPU memory, read-only; NULL for a batch that is not there. After
// this, release the batch with penstock_release_on_stream behind the last kernel that reads it.
PENSTOCK_EXPORT int32_t penstock_batch_device(const penstock_batch* batch, const uint8_t** images,
                                              const int64_t** labels, penstock_error* error);
// Releases the slot once the stream has reached this point. The handle still ends with
// penstock_release, which then does not wait. On failure the slot is held.
PENSTOCK_EXPORT int32_t penstock_release_on_stream(penstock_batch* batch, void* stream,
                                                   penstock_error* error);

#ifdef __cplusplus
}  // extern "C"
#endif
