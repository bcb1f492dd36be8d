#include "collect/python/stack_switch.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace stepscope {

thread_local StackRange t_stack;

// Calls eval(thread, frame, throws) with the stack pointer at `top`.
extern "C" __attribute__((visibility("hidden"))) PyObject* stepscope_call_on_stack(
    void* top, EvalFunction eval, PyThreadState* thread, _PyInterpreterFrame* frame, int throws);

// The frame pointer keeps the old stack pointer: for the unwinder this is a function like others.
#if defined(__x86_64__)
asm(R"(
  .text
  .hidden stepscope_call_on_stack
  .globl stepscope_call_on_stack
  .type stepscope_call_on_stack, @function
stepscope_call_on_stack:
  .cfi_startproc
  endbr64
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  movq %rdi, %rsp
  movq %rsi, %rax
  movq %rdx, %rdi
  movq %rcx, %rsi
  movl %r8d, %edx
  callq *%rax
  leave
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
  .size stepscope_call_on_stack, .-stepscope_call_on_stack
)");
#elif defined(__aarch64__)
asm(R"(
  .text
  .hidden stepscope_call_on_stack
  .globl stepscope_call_on_stack
  .type stepscope_call_on_stack, %function
stepscope_call_on_stack:
  .cfi_startproc
  stp x29, x30, [sp, #-16]!
  .cfi_def_cfa_offset 16
  .cfi_offset 29, -16
  .cfi_offset 30, -8
  mov x29, sp
  .cfi_def_cfa_register 29
  mov sp, x0
  mov x9, x1
  mov x0, x2
  mov x1, x3
  mov w2, w4
  blr x9
  mov sp, x29
  .cfi_def_cfa_register 31
  ldp x29, x30, [sp], #16
  .cfi_def_cfa_offset 0
  ret
  .cfi_endproc
  .size stepscope_call_on_stack, .-stepscope_call_on_stack
)");
#else
#error "stack_switch.cc needs a few instructions for this processor"
#endif

namespace {

// Address space; what is not touched costs nothing. Some 20,000 calls deep.
constexpr size_t kPieceBytes = size_t{16} << 20;
// What native code that Python calls may need of a stack at least.
constexpr size_t kMaxReserveBytes = size_t{2} << 20;
constexpr size_t kGuardBytes = size_t{64} << 10;

// Keeps a reserve at the lower end out of the range.
StackRange without_reserve(uintptr_t low, size_t bytes) {
  const size_t reserve = std::min(bytes / 2, kMaxReserveBytes);
  return {low + reserve, bytes - reserve};
}

// A stretch of memory with a page that faults below it.
class Piece {
 public:
  static std::unique_ptr<Piece> make() {
    void* memory = ::mmap(nullptr, kPieceBytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    ::mprotect(memory, kGuardBytes, PROT_NONE);
    return std::unique_ptr<Piece>(new Piece(memory));
  }
  Piece(const Piece&) = delete;
  Piece& operator=(const Piece&) = delete;
  ~Piece() { ::munmap(memory_, kPieceBytes); }

  void* top() const { return static_cast<char*>(memory_) + kPieceBytes; }
  StackRange range() const {
    return without_reserve(reinterpret_cast<uintptr_t>(memory_) + kGuardBytes,
                           kPieceBytes - kGuardBytes);
  }

 private:
  explicit Piece(void* memory) : memory_(memory) {}
  void* memory_;
};

// Pieces are kept until the thread ends: a loop that calls at the brink would map one each time.
struct ThreadStacks {
  std::vector<std::unique_ptr<Piece>> pieces;
  size_t used = 0;
};

thread_local std::unique_ptr<ThreadStacks> t_stacks;

StackRange read_own_stack() {
  pthread_attr_t attributes;
  void* low = nullptr;
  size_t bytes = 0;
  if (::pthread_getattr_np(::pthread_self(), &attributes) == 0) {
    ::pthread_attr_getstack(&attributes, &low, &bytes);
    ::pthread_attr_destroy(&attributes);
  }
  if (bytes == 0) return {0, SIZE_MAX};  // not known: as if there were no end
  return without_reserve(reinterpret_cast<uintptr_t>(low), bytes);
}

// Back to what it was, also when the thread is unwound.
class RestoreStack {
 public:
  RestoreStack(ThreadStacks& stacks, StackRange range) : stacks_(stacks), before_(t_stack) {
    ++stacks_.used;
    t_stack = range;
  }
  RestoreStack(const RestoreStack&) = delete;
  RestoreStack& operator=(const RestoreStack&) = delete;
  ~RestoreStack() {
    --stacks_.used;
    t_stack = before_;
  }

 private:
  ThreadStacks& stacks_;
  StackRange before_;
};

}  // namespace

PyObject* call_with_stack(EvalFunction eval, PyThreadState* thread, _PyInterpreterFrame* frame,
                          int throws) {
  if (t_stacks == nullptr) {
    t_stacks = std::make_unique<ThreadStacks>();
    t_stack = read_own_stack();
  }
  ThreadStacks& stacks = *t_stacks;
  if (!t_stack.is_short()) return eval(thread, frame, throws);
  if (stacks.used == stacks.pieces.size()) {
    std::unique_ptr<Piece> piece = Piece::make();
    if (piece == nullptr) return eval(thread, frame, throws);
    stacks.pieces.push_back(std::move(piece));
  }
  const Piece& piece = *stacks.pieces[stacks.used];
  const RestoreStack restore(stacks, piece.range());
  return stepscope_call_on_stack(piece.top(), eval, thread, frame, throws);
}

}  // namespace stepscope
