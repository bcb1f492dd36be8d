/* Stepscope's recorder for C and C++ code: scopes, counters, steps, memory and arrows of a program,
 * on the same timeline as everything else that is recorded in the process.
 *
 * C++:
 *   #include <stepscope/record.h>
 *   stepscope::Session session("outputs/profiler_results");   // until the end of main()
 *   const stepscope::Counter loss_counter("loss");
 *   for (int step = 0; step < steps; ++step) {
 *     STEPSCOPE_SCOPE("train_step");                          // until the end of the block
 *     loss_counter.set(train(step));
 *     stepscope::step(step);
 *   }
 *
 * Link with libstepscope_record. In an extension module of a Python process take the table of the
 * package instead, so that there is one recorder: PyCapsule_Import("stepscope._core.record_table",
 * 0) gives a StepscopeRecordTable*, for stepscope::use_table().
 *
 * A record takes some 15 ns. None of these functions throws, blocks, or does anything at all where
 * no recording runs. They are not for signal handlers.
 */
#ifndef STEPSCOPE_RECORD_H_
#define STEPSCOPE_RECORD_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STEPSCOPE_RECORD_VERSION 1

/* What a label stands for; the numbers are those of docs/format.md. */
enum StepscopeLabelKind {
  STEPSCOPE_OTHER = 0,
  STEPSCOPE_INSTANT = 1,
  STEPSCOPE_OPERATOR = 2,
  STEPSCOPE_ANNOTATION = 3,
  STEPSCOPE_STEP = 4,
  STEPSCOPE_PYTHON = 5,
  STEPSCOPE_CALL = 6,
  STEPSCOPE_RUNTIME = 7
};

typedef struct StepscopeRecordOptions {
  uint32_t bytes;          /* sizeof(StepscopeRecordOptions) */
  uint32_t no_counters;    /* 1: without the system's counters */
  uint64_t max_pool_bytes; /* 0: the default. More is dropped, and counted */
  uint64_t max_file_bytes; /* 0: no limit. Else a ring of the newest */
  uint64_t rotate_bytes;   /* 0: one file */
  uint32_t ignore_forks;   /* 1: forked children do not record */
  uint32_t reserved;
  const char* metadata; /* what the trace says of itself: lines "key=value"; null: nothing */
} StepscopeRecordOptions;

/* All functions may be called from any thread. Fields are only ever added, at the end: `bytes`
 * tells how many there are. */
typedef struct StepscopeRecordTable {
  uint32_t version;
  uint32_t bytes;

  /* 0 and a recording runs, or 1 and `message` says why not. */
  int (*start)(const char* folder, const StepscopeRecordOptions* options, char* message,
               size_t message_bytes);
  int (*stop)(char* message, size_t message_bytes);
  int (*is_recording)(void);

  /* Ids of names, for the life of the process, also in forked children. Takes a lock: once per
   * name, then keep the id. 0: no room just now, ask again later. Texts are UTF-8, not ended by a
   * zero. */
  uint32_t (*intern)(const char* name, size_t name_bytes, const char* category,
                     size_t category_bytes, uint8_t kind);
  uint32_t (*intern_counter)(const char* name, size_t name_bytes, const char* unit,
                             size_t unit_bytes);

  /* Records. Begins and ends nest within a thread (within a context); `label` 0 ends the innermost.
   */
  void (*begin)(uint32_t label);
  void (*end)(uint32_t label);
  void (*instant)(uint32_t label);
  void (*counter)(uint32_t counter, double value);
  void (*counter_int)(uint32_t counter, int64_t value);
  /* A training step ends here. */
  void (*step)(uint32_t number);
  /* An arrow from the scope that is open here to the one that is open at flow_end() of the same id.
   */
  void (*flow_begin)(uint64_t id);
  void (*flow_end)(uint64_t id);
  /* Device types are c10's: 0 CPU, 1 CUDA. */
  void (*allocate)(uint64_t address, uint64_t bytes, int32_t device_type, int32_t device);
  void (*free)(uint64_t address, uint64_t bytes, int32_t device_type, int32_t device);
  /* What follows on this thread belongs to another context (a greenlet); 0 is the thread itself. */
  void (*context)(uint32_t id);
  void (*set_thread_name)(const char* name, size_t name_bytes);

  /* Details of the scope that was just begun, in the encoding that docs/format.md has for that
   * kind of record (its number there); at most 255 words. */
  void (*attach)(uint32_t kind, const uint64_t* words, uint32_t count);
  /* begin() and attach() in one. */
  void (*begin_with)(uint32_t label, uint32_t kind, const uint64_t* words, uint32_t count);
  /* A scope that does not nest, and that may end on another thread. Its id is no other's until it
   * has ended. */
  void (*begin_async)(uint32_t label, uint64_t id);
  void (*end_async)(uint64_t id);
  /* Taken (or given back: `bytes` < 0), and what the allocator then has handed out and holds. */
  void (*memory)(uint64_t address, int64_t bytes, int32_t device_type, int32_t device,
                 int64_t allocated_bytes, int64_t reserved_bytes);
} StepscopeRecordTable;

/* Kinds of details. */
enum StepscopeDetail { STEPSCOPE_OPERATOR_DETAIL = 6, STEPSCOPE_INPUTS_DETAIL = 7 };

/* The table of this library; null where it does not have that version. */
const StepscopeRecordTable* stepscope_record_table(uint32_t version);

#ifdef __cplusplus
}  // extern "C"

#include <atomic>
#include <stdexcept>
#include <string>
#include <string_view>

namespace stepscope {

#ifdef STEPSCOPE_NO_LIBRARY
// For code that links no recorder: nothing is recorded before use_table().
inline const StepscopeRecordTable*& current_table() {
  static const StepscopeRecordTable* table = nullptr;
  return table;
}
#else
inline const StepscopeRecordTable*& current_table() {
  static const StepscopeRecordTable* table = stepscope_record_table(STEPSCOPE_RECORD_VERSION);
  return table;
}
#endif

inline void use_table(const StepscopeRecordTable* table) { current_table() = table; }

// A name that is looked up once. Make it static. What is not said to be something else is a call, a
// row of the view `functions`.
class Label {
 public:
  explicit Label(std::string_view name, std::string_view category = "",
                 uint8_t kind = STEPSCOPE_CALL)
      : name_(name), category_(category), kind_(kind) {}
  Label(const Label& other) : Label(other.name_, other.category_, other.kind_) {}
  Label& operator=(const Label&) = delete;

  uint32_t id() const {
    const uint32_t known = id_.load(std::memory_order_relaxed);
    return known != 0 ? known : find();
  }

 private:
  uint32_t find() const {
    const StepscopeRecordTable* table = current_table();
    if (table == nullptr) return 0;
    const uint32_t found =
        table->intern(name_.data(), name_.size(), category_.data(), category_.size(), kind_);
    id_.store(found, std::memory_order_relaxed);
    return found;
  }

  std::string name_, category_;
  uint8_t kind_;
  mutable std::atomic<uint32_t> id_{0};
};

// From here to the end of the block.
class Scope {
 public:
  explicit Scope(const Label& label) : table_(current_table()), id_(0) {
    if (table_ == nullptr || !table_->is_recording()) {
      table_ = nullptr;
      return;
    }
    id_ = label.id();
    table_->begin(id_);
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope() {
    if (table_ != nullptr) table_->end(id_);
  }

 private:
  const StepscopeRecordTable* table_;
  uint32_t id_;
};

class Counter {
 public:
  explicit Counter(std::string_view name, std::string_view unit = "") : name_(name), unit_(unit) {}

  void set(double value) const {
    if (const uint32_t known = id(); known != 0) current_table()->counter(known, value);
  }
  void set_int(int64_t value) const {
    if (const uint32_t known = id(); known != 0) current_table()->counter_int(known, value);
  }

 private:
  uint32_t id() const {
    uint32_t known = id_.load(std::memory_order_relaxed);
    if (known != 0 || current_table() == nullptr) return known;
    known = current_table()->intern_counter(name_.data(), name_.size(), unit_.data(), unit_.size());
    id_.store(known, std::memory_order_relaxed);
    return known;
  }

  std::string name_, unit_;
  mutable std::atomic<uint32_t> id_{0};
};

// The training step of that number ends here.
inline void step(uint32_t number) {
  if (const StepscopeRecordTable* table = current_table()) table->step(number);
}

inline void set_thread_name(std::string_view name) {
  if (const StepscopeRecordTable* table = current_table()) {
    table->set_thread_name(name.data(), name.size());
  }
}

// A recording from here to the end of the block. Throws std::runtime_error where it can not be
// written.
class Session {
 public:
  explicit Session(const std::string& folder, StepscopeRecordOptions options = {}) {
    options.bytes = sizeof(options);
    char message[512] = "no recorder in this program";
    const StepscopeRecordTable* table = current_table();
    if (table == nullptr || table->start(folder.c_str(), &options, message, sizeof(message)) != 0) {
      throw std::runtime_error(message);
    }
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    char message[512];
    current_table()->stop(message, sizeof(message));
  }
};

}  // namespace stepscope

#define STEPSCOPE_JOIN_(a, b) a##b
#define STEPSCOPE_JOIN(a, b) STEPSCOPE_JOIN_(a, b)
// A scope of that name until the end of the block; the name must be the same each time.
#define STEPSCOPE_SCOPE(name)                                                       \
  static const ::stepscope::Label STEPSCOPE_JOIN(stepscope_label_, __LINE__)(name); \
  const ::stepscope::Scope STEPSCOPE_JOIN(stepscope_scope_,                         \
                                          __LINE__)(STEPSCOPE_JOIN(stepscope_label_, __LINE__))

#endif  // __cplusplus
#endif  // STEPSCOPE_RECORD_H_
