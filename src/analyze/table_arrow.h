// Tables and slices as Arrow: streams of record batches through the Arrow C stream interface, which
// pandas, Polars, DuckDB and pyarrow take without a copy and without linking to Arrow.
//
//   ArrowArrayStream stream;
//   export_table(table, &stream);       // or export_slices(trace, &stream)
//   while (stream.get_next(&stream, &batch) == 0 && batch.release != nullptr) …
//   stream.release(&stream);
//
// A stream keeps what it reads alive (the shared_ptr's reason to be one) and is read by one thread
// at a time; for another pass export again. Batches have at most 65,536 rows and own their memory.
// Units of columns are in the fields' metadata under "unit".
#pragma once

#include <cstdint>
#include <memory>

#include "analyze/table.h"
#include "trace/trace.h"

// The structures of the Arrow C data and stream interfaces, as the specification has them.
extern "C" {

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};

#endif  // ARROW_C_DATA_INTERFACE

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};

#endif  // ARROW_C_STREAM_INTERFACE

}  // extern "C"

namespace stepscope {

// Whole numbers are int64, the others double, bool and utf8.
void export_table(std::shared_ptr<const Table> table, ArrowArrayStream* out);

// The columns of SQL's table `slices` and the track's title as `track`; texts are
// dictionary-encoded.
void export_slices(std::shared_ptr<const Trace> trace, ArrowArrayStream* out);

}  // namespace stepscope
