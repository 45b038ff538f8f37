// The plain types of Penstock's C API (c.h). C99.
//
// Structs begin with `struct_size`, which the caller sets to sizeof. The library neither reads nor
// writes beyond it, so later versions can append fields: a program runs with every library that is
// at least as new as its header. A newer program that uses a field which an older library does not
// know gets PENSTOCK_INVALID_ARGUMENT. Structs without `struct_size` never change.
//
// In options, 0 and NULL mean the default. So set what you need, and leave the rest to C:
//
//   penstock_session_options options = {.struct_size = sizeof options, .dataset = "imagenet"};
//
// **Ownership**: what options point to is copied during the call. What the library's answers point
// to belongs to the handle that was asked.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// What a function returns. penstock_code_name has the words.
enum {
  PENSTOCK_OK = 0,
  PENSTOCK_INVALID_ARGUMENT = 1,     // an argument is invalid; nothing was done
  PENSTOCK_NOT_FOUND = 2,            // no such dataset, or no daemon
  PENSTOCK_PERMISSION_DENIED = 3,    // this user may not use the socket or the path
  PENSTOCK_FAILED_PRECONDITION = 4,  // wrong state: released, forked, or another version
  PENSTOCK_RESOURCE_EXHAUSTED = 5,   // does not fit now; the message has the numbers
  PENSTOCK_DEADLINE_EXCEEDED = 6,    // the timeout ran out
  PENSTOCK_UNAVAILABLE = 7,          // the daemon is gone; the next call connects again
  PENSTOCK_DATA_LOSS = 8,            // the feed failed: too many bad samples, or the source failed
  PENSTOCK_END_OF_EPOCH = 9,         // next: this epoch has no more batches for this rank
  PENSTOCK_END_OF_DATA = 10,         // next: all requested epochs are done
  PENSTOCK_INTERNAL = 11,            // a bug in Penstock
  PENSTOCK_CANCELLED = 12            // penstock_client_options.interrupted cancelled the call
};

// Type of a tensor's elements. All are little endian.
enum {
  PENSTOCK_BOOL = 1,  // one byte, 0 or 1
  PENSTOCK_UINT8 = 2,
  PENSTOCK_INT8 = 3,
  PENSTOCK_UINT16 = 4,
  PENSTOCK_INT16 = 5,
  PENSTOCK_UINT32 = 6,
  PENSTOCK_INT32 = 7,
  PENSTOCK_UINT64 = 8,
  PENSTOCK_INT64 = 9,
  PENSTOCK_FLOAT16 = 10,
  PENSTOCK_BFLOAT16 = 11,
  PENSTOCK_FLOAT32 = 12,
  PENSTOCK_FLOAT64 = 13
};

// Order of an epoch's samples (sampling.h).
enum {
  PENSTOCK_SHUFFLED = 0,
  PENSTOCK_SEQUENTIAL = 1,
  PENSTOCK_GIVEN = 2,  // penstock_session_options.given
  PENSTOCK_SHUFFLED_IN_WINDOWS = 3
};

// Samples that do not fill a batch of every rank (sampling.h).
enum {
  PENSTOCK_REMAINDER_DEFAULT = 0,  // PARTIAL for one rank, PAD_RANKS for more
  PENSTOCK_DROP = 1,
  PENSTOCK_PAD_BATCH = 2,
  PENSTOCK_PARTIAL = 3,
  PENSTOCK_PAD_RANKS = 4
};

// How images are decoded (decoding.h).
enum {
  PENSTOCK_DECODE_DEFAULT = 0,  // a random resized crop of 224 × 224; rows without images as stored
  PENSTOCK_RANDOM_RESIZED_CROP = 1,
  PENSTOCK_CENTER_CROP = 2,
  PENSTOCK_WHOLE_IMAGE = 3
};

// How pixels between others are computed.
enum {
  PENSTOCK_INTERPOLATION_DEFAULT = 0,  // bilinear
  PENSTOCK_NEAREST = 1,
  PENSTOCK_BILINEAR = 2,
  PENSTOCK_BICUBIC = 3,
  PENSTOCK_LANCZOS = 4
};

// Layout of finished images.
enum { PENSTOCK_NCHW = 0, PENSTOCK_NHWC = 1 };

// How batches are delivered, and how the daemon shares GPU memory (options.h).
enum {
  PENSTOCK_DELIVERY_AUTO = 0,
  PENSTOCK_DELIVERY_DEVICE = 1,
  PENSTOCK_DELIVERY_PINNED = 2,
  PENSTOCK_DELIVERY_HOST = 3
};
enum { PENSTOCK_HANDLE_AUTO = 0, PENSTOCK_HANDLE_IPC = 1, PENSTOCK_HANDLE_VMM = 2 };

// A timeout: the default of the call.
#define PENSTOCK_DEFAULT_TIMEOUT (-1)

// Why a call failed. A call that succeeds sets code to 0 and message to "".
typedef struct penstock_error {
  int32_t code;        // as the function returned
  char message[1020];  // what failed, why, and what to do; UTF-8, cut if longer
} penstock_error;

typedef struct penstock_client_options {
  size_t struct_size;
  const char* address;    // path of the daemon's socket; NULL: searched for (options.h)
  const char* name;       // shown in status; NULL: the program's name
  int32_t start_private;  // not 0: starts a private daemon if none answers
  int32_t only_private;   // not 0: uses this user's private daemon even if another answers
  // Called every 100 ms by a thread whose call waits for the daemon's answer; a result other than 0
  // cancels that call. It must not call the library, and must be callable from any thread until
  // the client and all of its sessions are gone.
  int (*interrupted)(void* argument);
  void* interrupted_argument;
} penstock_client_options;

// A session's position, to resume at: the same on every rank, for any world and batch size.
typedef struct penstock_state {
  size_t struct_size;
  uint64_t epoch;
  uint64_t consumed;  // samples of this epoch that all ranks together have taken
  uint64_t seed;
  uint64_t fingerprint;  // of the feed; 0: not checked
  uint64_t quarantine_version;
} penstock_state;

// A field that a session requests in addition to the image.
typedef struct penstock_field_request {
  const char* name;
  uint32_t max_length;  // of a field of variable length: elements along its first side
  int32_t as_stored;    // not 0: accepts image coordinates that do not follow a random crop
} penstock_field_request;

typedef struct penstock_session_options {
  size_t struct_size;
  const char* dataset;  // required: a name; for a private daemon also an absolute path
  const char* name;     // shown in status, at most 128 bytes
  const char* device;   // "host" (default), "cuda", "cuda:N" or "auto"

  uint32_t batch_size;  // rows (default 1)
  int32_t order;
  uint64_t seed;
  const uint64_t* given;  // for PENSTOCK_GIVEN: the sample index for each position of an epoch
  uint64_t given_count;
  uint32_t given_rank, given_ranks;   // if each rank gives its own order; 0 ranks: a shared order
  uint64_t shard_samples;             // for PENSTOCK_SHUFFLED_IN_WINDOWS; 0: the largest shard
  uint32_t window_shards;             // as above (default 16)
  int32_t remainder;                  //
  uint64_t range_first, range_count;  // only these samples; 0 count: all
  uint64_t epochs;                    // 0: no limit
  uint32_t rank, world_size;          // (default 1 rank)
  const penstock_state* state;        // resume here; its seed replaces `seed`
  uint32_t window;                    // batches kept ready ahead, 1 to 256 (default 4)
  int32_t fail_on_bad_sample;         // not 0: the first bad sample fails the feed
  const penstock_field_request* fields;
  size_t field_count;

  int32_t decode;
  uint32_t height, width;          // pixels of a row (default 224); need `decode`
  uint32_t resize;                 // PENSTOCK_CENTER_CROP: the shorter side (default 256)
  double scale_min, scale_max;     // PENSTOCK_RANDOM_RESIZED_CROP (default 0.08 and 1)
  double ratio_min, ratio_max;     // the same (default 3/4 and 4/3)
  double flip_probability;         // of a horizontal flip
  int32_t interpolation;           // of the crop's resize
  int32_t canvas;                  // PENSTOCK_WHOLE_IMAGE, not 0: images may be smaller than rows
  int32_t gray;                    // not 0: one channel
  int32_t apply_exif_orientation;  // not 0: before the crop

  int32_t delivery, handle;
  uint32_t device_depth;    // batches in GPU memory at once; 0: the daemon's value
  int32_t reserved;         // 0
  int64_t open_timeout_ms;  // (default 30 min)
} penstock_session_options;

// The form of finished images (finish.h).
typedef struct penstock_finish {
  size_t struct_size;
  int32_t type;  // PENSTOCK_FLOAT32 (default), PENSTOCK_UINT8, PENSTOCK_FLOAT16, PENSTOCK_BFLOAT16
  int32_t layout;   // PENSTOCK_NCHW (default) or PENSTOCK_NHWC
  float mean[3];    // of values in [0, 1]
  float stddev[3];  // all 0: 1
} penstock_finish;

// Where one tensor of a batch goes: rows × elements of `type`, without gaps.
typedef struct penstock_tensor_into {
  uint32_t tensor;  // index, as for penstock_session_tensor
  int32_t type;     // the tensor's own, or another that tensor.h allows
  void* data;
  size_t bytes;      // size of `data`
  int32_t* lengths;  // one for each row; NULL: not wanted
} penstock_tensor_into;

// Where a batch goes: device memory for a batch on a GPU, else host memory. Any alignment.
typedef struct penstock_into {
  size_t struct_size;
  void* images;
  size_t image_bytes;  // at least penstock_finished_bytes
  int64_t* labels;     // one for each row; NULL: not wanted
  const penstock_tensor_into* tensors;
  size_t tensor_count;
} penstock_into;

// A tensor of a session, or a field of a dataset.
typedef struct penstock_tensor_info {
  size_t struct_size;
  const char* name;
  const uint32_t* shape;  // of one sample, row-major
  uint32_t rank;          // number of sides in `shape`
  int32_t type;
  int32_t
      variable;  // not 0: samples differ along the first side, which is its maximum in a session
  uint32_t element_bytes;
} penstock_tensor_info;

typedef struct penstock_dataset_info {
  size_t struct_size;
  const char* kind;  // "folder", "tar", "idx", …
  uint64_t samples;
  uint64_t first_sample;   // number of the first one
  uint64_t epoch_samples;  // as `samples`; for a mixture, the configured number
  uint32_t classes, fields;
  uint32_t height, width, channels;  // of rows that need no decoding; else 0
  int32_t decoded, labeled;
  uint32_t reserved;
} penstock_dataset_info;

typedef struct penstock_session_info {
  size_t struct_size;
  uint64_t samples;           // of the dataset, or of its range
  uint64_t batches_in_epoch;  // of this rank, in the current epoch
  uint32_t classes, tensors;
  uint32_t rows, height, width, channels;  // of a full batch's images
  int32_t delivery, handle;                // those in use
  int32_t device;                          // CUDA's number of the GPU; -1: host memory
  int32_t labeled;
} penstock_session_info;

// A batch's numbers, and where it is in host memory. Pointers are NULL for a batch on a GPU and
// once it is released, except labels and sample_ids, which are in host memory until the release.
typedef struct penstock_batch_info {
  size_t struct_size;
  uint64_t epoch, step, first;  // step: in this epoch; first: position of row 0 in its order
  uint32_t rows, valid_rows;    // the rest is padding
  uint32_t height, width, channels;
  int32_t last_of_epoch, on_device, synthetic;
  const uint8_t* images;  // uint8, rows × height × width × channels, read-only
  size_t image_bytes;
  const int64_t* labels;       // one for each row
  const uint64_t* sample_ids;  // one for each row
} penstock_batch_info;

// One tensor of a batch, read-only. Row i begins at data + i · row_stride.
typedef struct penstock_tensor_view {
  size_t struct_size;
  const void* data;
  uint64_t row_stride;     // bytes
  const int32_t* lengths;  // of each row, for a field of variable length
  uint32_t rows;
  uint32_t reserved;
} penstock_tensor_view;

// Where a session's time went (SessionStats in session.h).
typedef struct penstock_session_stats {
  size_t struct_size;
  uint64_t batches, batches_ready;
  double waited_seconds, busy_seconds;
  uint64_t batches_ahead, samples_decoded, samples_replaced;  // 0 if the daemon did not answer
  double workers_busy;
  uint64_t samples_per_second;
  int32_t daemon_answered;
  char verdict[508];  // one sentence: who waits for whom, and at which stage; cut if longer
} penstock_session_stats;

#ifdef __cplusplus
}  // extern "C"
#endif
