#include "collect/native/native_stack.h"

#include <elf.h>
#include <libunwind.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "base/flat_map.h"
#include "collect/native/native_modules.h"

// Exported for those who bring their own tables, though in no header.
extern "C" int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t space, unw_word_t address,
                                                  unw_dyn_info_t* table, unw_proc_info_t* found,
                                                  int need_unwind_info, void* argument);

namespace stepscope::sample {
namespace {

constexpr size_t kMaxStackBytes = 512 * 1024;
constexpr size_t kStackCacheThreads = 4096;
constexpr size_t kMaxKnownAddresses = 1'000'000;
constexpr size_t kUnwindCacheSize = 8192;

// Registers by ptrace, in libunwind's order.
bool read_registers(pid_t tid, std::array<uint64_t, 33>& to) {
#if defined(__x86_64__)
  user_regs_struct from;
#elif defined(__aarch64__)
  user_regs_struct from;  // x0 to x30, sp, pc: the same order
#else
#error "the order of registers is not known"
#endif
  iovec area{&from, sizeof(from)};
  if (::ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &area) != 0) return false;
#if defined(__x86_64__)
  const std::array<uint64_t, 17> all = {from.rax, from.rdx, from.rcx, from.rbx, from.rsi, from.rdi,
                                        from.rbp, from.rsp, from.r8,  from.r9,  from.r10, from.r11,
                                        from.r12, from.r13, from.r14, from.r15, from.rip};
  std::copy(all.begin(), all.end(), to.begin());
#else
  std::memcpy(to.data(), &from, sizeof(to));
#endif
  return true;
}

#if defined(__x86_64__)
constexpr size_t kStackPointer = UNW_X86_64_RSP;
#else
constexpr size_t kStackPointer = UNW_AARCH64_SP;
#endif

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

class NativeStacks final : public NativeUnwinder {
 public:
  NativeStacks(const ProcessMemory& memory, std::string interpreter)
      : memory_(memory), modules_(memory), interpreter_(std::move(interpreter)) {
    space_ = ::unw_create_addr_space(&accessors(), 0);
    CHECK(space_ != nullptr, "out of memory");
    ::unw_set_caching_policy(space_, UNW_CACHE_GLOBAL);
    ::unw_set_cache_size(space_, kUnwindCacheSize, 0);
  }
  ~NativeStacks() override { ::unw_destroy_addr_space(space_); }
  NativeStacks(const NativeStacks&) = delete;
  NativeStacks& operator=(const NativeStacks&) = delete;

  bool capture(pid_t tid, RegistersAndStack& copy) override {
    copy.tid = tid;
    copy.stack.clear();
    if (!read_registers(tid, copy.registers)) return false;
    copy.stack_begin = copy.registers[kStackPointer];
    const uint64_t end = modules_.end_of_mapping(copy.stack_begin);
    if (end <= copy.stack_begin) return true;
    copy.stack.resize(std::min<uint64_t>(end - copy.stack_begin, kMaxStackBytes));
    if (!memory_.read(copy.stack_begin, std::span(copy.stack))) copy.stack.clear();
    return true;
  }

  void unwind(const RegistersAndStack& copy, NativeStack& stack) override {
    modules_.refresh_at_times();
    Last& last = last_[copy.tid];
    const bool is_same = last.generation == modules_.generation() &&
                         last.copy.registers == copy.registers && last.copy.stack == copy.stack;
    if (!is_same) {
      walk(copy, last.stack);
      last.generation = modules_.generation();
      last.copy = copy;
    }
    stack = last.stack;
    if (last_.size() > kStackCacheThreads) last_.clear();
  }

  const NativeFunction& function(uint32_t number) const override { return functions_[number]; }
  uint32_t function_count() const override { return static_cast<uint32_t>(functions_.size()); }

 private:
  struct Known {  // of an address
    uint32_t function = 0;
    uint32_t offset = 0;
    bool has_module = false;
    bool has_unwind_entry = false;
    bool is_signal_frame = false;
  };
  struct Last {  // of a thread: those that wait are unwound once
    uint64_t generation = UINT64_MAX;
    RegistersAndStack copy;
    NativeStack stack;
  };

  static unw_accessors_t& accessors();
  static NativeStacks& self(void* argument) { return *static_cast<NativeStacks*>(argument); }

  void walk(const RegistersAndStack& copy, NativeStack& stack);
  const Known& look_up(uint64_t address, bool is_return, unw_cursor_t& cursor);
  bool is_after_call(uint64_t address);
  int search_table(uint64_t address, unw_proc_info_t* found, int need_unwind_info);
  uint32_t intern(NativeFunction function);
  bool read_word(uint64_t address, uint64_t& word);

  const ProcessMemory& memory_;
  NativeModules modules_;
  std::string interpreter_;
  unw_addr_space_t space_;
  const RegistersAndStack* copy_ = nullptr;  // that is being unwound

  uint64_t known_generation_ = UINT64_MAX;
  FlatMap known_numbers_;  // by address * 2 + is_return
  std::vector<Known> known_;
  std::deque<NativeFunction> functions_;
  std::unordered_map<std::string, uint32_t> function_numbers_;
  std::unordered_map<pid_t, Last> last_;
};

unw_accessors_t& NativeStacks::accessors() {
  static unw_accessors_t all = [] {
    unw_accessors_t made{};
    made.find_proc_info = [](unw_addr_space_t, unw_word_t address, unw_proc_info_t* found,
                             int need_unwind_info, void* argument) {
      return self(argument).search_table(address, found, need_unwind_info);
    };
    made.put_unwind_info = [](unw_addr_space_t, unw_proc_info_t*, void*) {};
    made.get_dyn_info_list_addr = [](unw_addr_space_t, unw_word_t*, void*) { return -UNW_ENOINFO; };
    made.access_mem = [](unw_addr_space_t, unw_word_t address, unw_word_t* word, int is_write,
                         void* argument) {
      uint64_t value = 0;
      if (is_write != 0 || !self(argument).read_word(address, value)) return -UNW_EINVAL;
      *word = value;
      return 0;
    };
    made.access_reg = [](unw_addr_space_t, unw_regnum_t number, unw_word_t* value, int is_write,
                         void* argument) {
      const auto& registers = self(argument).copy_->registers;
      const bool is_known = number >= 0 && static_cast<size_t>(number) < registers.size();
      if (is_write != 0 || !is_known) return -UNW_EBADREG;
      *value = registers[static_cast<size_t>(number)];
      return 0;
    };
    made.access_fpreg = [](unw_addr_space_t, unw_regnum_t, unw_fpreg_t*, int, void*) {
      return -UNW_EBADREG;
    };
    made.resume = [](unw_addr_space_t, unw_cursor_t*, void*) { return -UNW_EINVAL; };
    made.get_proc_name = [](unw_addr_space_t, unw_word_t, char*, size_t, unw_word_t*, void*) {
      return -UNW_ENOINFO;
    };
    return made;
  }();
  return all;
}

bool NativeStacks::read_word(uint64_t address, uint64_t& word) {
  const uint64_t at = address - copy_->stack_begin;
  if (address >= copy_->stack_begin && at < copy_->stack.size()) {
    if (copy_->stack.size() - at < sizeof(word)) return false;
    std::memcpy(&word, copy_->stack.data() + at, sizeof(word));
    return true;
  }
  // Tables of C++ name their handler of exceptions by a variable. Nobody calls it, but it is read.
  return modules_.read_constant(address, word) || modules_.read_variable(address, word);
}

int NativeStacks::search_table(uint64_t address, unw_proc_info_t* found, int need_unwind_info) {
  const NativeModules::Module* module = modules_.find(address);
  if (module == nullptr || module->unwind_count == 0) return -UNW_ENOINFO;
  unw_dyn_info_t table{};
  table.format = UNW_INFO_FORMAT_REMOTE_TABLE;
  table.start_ip = module->begin;
  table.end_ip = module->end;
  table.u.rti.segbase = module->unwind_header;
  table.u.rti.table_data = module->unwind_table;
  table.u.rti.table_len = module->unwind_count;  // in words: an entry is one
  const int result =
      UNW_OBJ(dwarf_search_unwind_table)(space_, address, &table, found, need_unwind_info, this);
  // The table has the begins alone: an address may lie behind its function.
  const bool is_in = result >= 0 && address >= found->start_ip && address < found->end_ip;
  return result < 0 || is_in ? result : -UNW_ENOINFO;
}

void NativeStacks::walk(const RegistersAndStack& copy, NativeStack& stack) {
  stack.frames.clear();
  stack.is_whole = false;
  copy_ = &copy;
  if (known_generation_ != modules_.generation() || known_.size() > kMaxKnownAddresses) {
    known_generation_ = modules_.generation();
    known_numbers_ = {};
    known_.clear();
    ::unw_flush_cache(space_, 0, 0);
  }
  unw_cursor_t cursor;
  if (copy.stack.empty() || ::unw_init_remote(&cursor, space_, this) != 0) return;
  bool is_return = false;
  uint64_t last_stack_pointer = 0;
  while (stack.frames.size() < kMaxNativeFrames) {
    unw_word_t address = 0;
    unw_word_t stack_pointer = 0;
    if (::unw_get_reg(&cursor, UNW_REG_IP, &address) != 0 || address == 0) return;
    if (::unw_get_reg(&cursor, UNW_REG_SP, &stack_pointer) != 0) return;
    const Known known = look_up(address, is_return, cursor);
    // Code that is nowhere, or a stack that does not go on: no frame of ours.
    if (!known.has_module || (is_return && stack_pointer <= last_stack_pointer)) return;
    stack.frames.push_back(
        {address, known.function, known.offset, functions_[known.function].role});
    const int more = ::unw_step(&cursor);
    if (more <= 0) {
      stack.is_whole = more == 0 && known.has_unwind_entry;
      return;
    }
    if (!known.has_unwind_entry) {  // libunwind took the frame pointer for one
      unw_word_t next = 0;
      if (::unw_get_reg(&cursor, UNW_REG_IP, &next) != 0 || !is_after_call(next)) return;
    }
    is_return = !known.is_signal_frame;
    last_stack_pointer = is_return ? stack_pointer : 0;
  }
}

// Of code generated at run time only this tells a return address from any number.
bool NativeStacks::is_after_call(uint64_t address) {
#if defined(__x86_64__)
  uint64_t before = 0;  // the 8 bytes that end at the address
  if (modules_.find(address) == nullptr || !modules_.read_constant(address - 8, before)) {
    return false;
  }
  const auto byte = [before](int back) { return static_cast<uint8_t>(before >> (8 * (8 - back))); };
  if (byte(5) == 0xe8) return true;           // call relative
  for (const int length : {2, 3, 4, 6, 7}) {  // call indirect: ff /2
    if (byte(length) == 0xff && (byte(length - 1) >> 3 & 7) == 2) return true;
  }
  return false;
#else
  return modules_.find(address) != nullptr;
#endif
}

const NativeStacks::Known& NativeStacks::look_up(uint64_t address, bool is_return,
                                                 unw_cursor_t& cursor) {
  const auto [number, is_new] = known_numbers_.try_emplace(address * 2 + (is_return ? 1 : 0),
                                                           static_cast<uint32_t>(known_.size()));
  if (!is_new) return known_[number];
  const uint32_t index = number;
  known_.emplace_back();
  // A call may be the last instruction of its function.
  const uint64_t inside = is_return ? address - 1 : address;
  NativeModules::Module* module = modules_.find(inside);
  if (module == nullptr) return known_[index];
  Known known;
  known.has_module = true;
  known.is_signal_frame = ::unw_is_signal_frame(&cursor) > 0;
  unw_proc_info_t entry;
  known.has_unwind_entry = search_table(inside, &entry, 0) >= 0;
  NativeFunction function;
  function.module = module->path;
  uint64_t begin = inside;
  if (auto found = modules_.symbols_of(*module).find(inside - module->bias)) {
    function.name = std::move(found->name);
    function.has_name = true;
    begin = found->begin + module->bias;
  } else {
    // All addresses of a nameless function are one function, where its begin is known.
    if (known.has_unwind_entry) begin = entry.start_ip;
    char text[32];
    std::snprintf(text, sizeof(text), "+0x%lx", begin - (module->header != 0 ? module->bias : 0));
    const std::string_view file = file_name(module->path);
    function.name = (file.empty() ? "[code]" : std::string(file)) + text;
  }
  function.role = find_native_role(function, module->path == interpreter_);
  known.offset = static_cast<uint32_t>(std::min<uint64_t>(address - begin, UINT32_MAX));
  known.function = intern(std::move(function));
  known_[index] = known;
  return known_[index];
}

uint32_t NativeStacks::intern(NativeFunction function) {
  const std::string key = function.module + '\0' + function.name;
  const auto [at, is_new] =
      function_numbers_.try_emplace(key, static_cast<uint32_t>(functions_.size()));
  if (is_new) functions_.push_back(std::move(function));
  return at->second;
}

}  // namespace

std::unique_ptr<NativeUnwinder> make_native_stacks(const ProcessMemory& memory,
                                                   const std::string& interpreter) {
  return std::make_unique<NativeStacks>(memory, interpreter);
}

}  // namespace stepscope::sample
