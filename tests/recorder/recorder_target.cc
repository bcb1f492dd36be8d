// A program that is hard on the recorder in one way, chosen by its first argument; test_recorder.py
// runs it and looks at what is left. Uses what users have: stepscope/record.h.
//
//   recorder_target <mode> <folder> [number]
#include <stepscope/record.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

using stepscope::Counter;
using stepscope::Label;
using stepscope::Scope;
using stepscope::Session;

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(3);
}

StepscopeRecordOptions quiet() {
  StepscopeRecordOptions options{};
  options.no_counters = 1;
  return options;
}

// A recording that nobody ends: of a program that is killed, or replaced by another.
void leave_open(const std::string& folder, const StepscopeRecordOptions& options) {
  [[maybe_unused]] static Session* open = nullptr;  // so that no sanitizer takes it for lost
  open = new Session(folder, options);
}

void call_some(int calls) {
  static const Label outer("outer");
  static const Label inner("inner");
  for (int i = 0; i < calls; ++i) {
    const Scope a(outer);
    const Scope b(inner);
  }
}

// At a pace that no drain falls behind.
void call_many(int calls) {
  for (int i = 0; i < calls; i += 200) {
    call_some(200);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// Threads that write numbered records for ever, in bursts with pauses, or without. What each has
// written is published, apart from the recorder, in a shared file: <folder>/progress, one u64 per
// thread.
void count_up(const std::string& folder, int threads, bool pauses) {
  const std::string path = folder + "/progress";
  ::mkdir(folder.c_str(), 0777);
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT, 0666);
  if (file < 0 || ::ftruncate(file, 4096) != 0) fail("progress");
  void* memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) fail("progress");
  auto* progress = static_cast<std::atomic<uint64_t>*>(memory);
  leave_open(folder, quiet());
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([t, progress, pauses] {
      const Counter counter("thread " + std::to_string(t));
      for (uint64_t i = 0;; ++i) {
        counter.set_int(static_cast<int64_t>(i));
        progress[t].store(i + 1, std::memory_order_release);
        if (pauses && i % 100 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        // Now and then something with a name of its own, so that definitions are on their way too.
        if (i % 1000 == 0) {
          const Scope named(Label("name " + std::to_string(t) + " " + std::to_string(i / 1000)));
        }
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
}

void fork_storm(const std::string& folder, int children) {
  const Session session(folder, quiet());
  call_some(10);
  for (int i = 0; i < children; ++i) {
    const pid_t child = i % 2 == 0 ? ::fork() : static_cast<pid_t>(::syscall(SYS_fork));
    if (child < 0) fail("fork");
    if (child == 0) {
      call_some(5);
      // Some end well, some do not, some are replaced.
      if (i % 3 == 0) std::exit(0);
      if (i % 3 == 1) ::_exit(0);
      ::execl("/bin/true", "true", nullptr);
      ::_exit(1);
    }
    if (i % 8 == 7) {
      while (::waitpid(-1, nullptr, WNOHANG) > 0) {
      }
    }
    call_some(1);
  }
  while (::waitpid(-1, nullptr, 0) > 0) {
  }
}

void many_threads(const std::string& folder, int threads) {
  const Session session(folder, quiet());
  constexpr int kAtOnce = 500;
  for (int first = 0; first < threads; first += kAtOnce) {
    std::vector<std::thread> workers;
    for (int t = first; t < std::min(threads, first + kAtOnce); ++t) {
      workers.emplace_back([] { call_some(20); });
    }
    for (std::thread& worker : workers) worker.join();
  }
}

void threads_at_once(const std::string& folder, int threads) {
  const Session session(folder, quiet());
  std::mutex mutex;
  std::condition_variable changed;
  bool go = false;
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&] {
      call_some(1);
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return go; });
      }
      call_some(1);
    });
  }
  {
    const std::lock_guard lock(mutex);
    go = true;
  }
  changed.notify_all();
  for (std::thread& worker : workers) worker.join();
}

// As daemons do: two forks, a session, all descriptors closed, other files opened in their place.
void daemonise(const std::string& folder) {
  const std::string log = folder + "/../daemon.log";
  leave_open(folder, quiet());
  call_some(10);
  if (::fork() != 0) ::_exit(0);
  ::setsid();
  if (::fork() != 0) ::_exit(0);
  call_some(10);
  for (int i = 0; i < 1024; ++i) ::close(i);
  for (int i = 0; i < 64; ++i) {
    if (::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666) < 0) ::_exit(4);
  }
  call_many(100'000);
  if (::chdir("/") != 0) ::_exit(4);
  char message[256];
  const int failed = stepscope::current_table()->stop(message, sizeof(message));
  if (::write(0, "daemon was here\n", 16) != 16) ::_exit(4);
  ::_exit(failed);
}

// The same in one process.
void close_all(const std::string& folder) {
  const std::string log = folder + "/../program.log";
  Session session(folder, quiet());
  call_some(10);
  for (int i = 0; i < 1024; ++i) ::close(i);
  for (int i = 0; i < 64; ++i) {
    if (::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666) < 0) ::_exit(4);
  }
  call_many(100'000);
  if (::write(0, "program was here\n", 17) != 17) ::_exit(4);
}

// Locks itself up where the folder can not be seen.
void change_root(const std::string& folder) {
  const Session session(folder, quiet());
  call_some(10);
  const std::string jail = folder + "/../jail";
  if (::mkdir(jail.c_str(), 0777) != 0 || ::chroot(jail.c_str()) != 0 || ::chdir("/") != 0) {
    fail("chroot");
  }
  call_many(10'000);
}

void exec_chain(const std::string& folder, int left, char** argv) {
  leave_open(folder, quiet());
  call_some(10);
  if (left == 0) std::exit(0);
  const std::string next = std::to_string(left - 1);
  ::execl(argv[0], argv[0], "exec", folder.c_str(), next.c_str(), nullptr);
  fail("exec");
}

void crash(const std::string& folder, int signal) {
  leave_open(folder, quiet());
  call_some(1000);
  std::signal(signal, SIG_DFL);
  const Scope open(Label("open when it crashed"));
  ::raise(signal);
}

// Not getrusage(): its maximum begins with that of the process that forked this one.
long read_peak_rss_kb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stol(line.substr(6));
  }
  fail("VmHWM");
}

// Writes until `megabytes` of raw records have gone through; says how its memory grew.
void write_much(const std::string& folder, int megabytes) {
  StepscopeRecordOptions options = quiet();
  options.max_pool_bytes = uint64_t{8} << 20;
  options.max_file_bytes = uint64_t{8} << 20;
  const Session session(folder, options);
  const Counter counter("n");
  const uint64_t records = static_cast<uint64_t>(megabytes) * 1'000'000 / 16;
  long first_kb = 0;
  uint64_t noise = 1;
  for (uint64_t i = 0; i < records; ++i) {
    noise = noise * 6364136223846793005u + 1442695040888963407u;
    counter.set_int(static_cast<int64_t>(noise >> 20));
    if (i == records / 10) first_kb = read_peak_rss_kb();
  }
  std::printf("%ld %ld\n", first_kb, read_peak_rss_kb());
}

// Records more than the disk holds, goes on, and says at the end whether the file could be closed.
void fill_disk(const std::string& folder) {
  StepscopeRecordOptions options = quiet();
  options.max_pool_bytes = uint64_t{2} << 20;
  char message[512] = "";
  options.bytes = sizeof(options);
  const StepscopeRecordTable* table = stepscope::current_table();
  if (table->start(folder.c_str(), &options, message, sizeof(message)) != 0) {
    std::printf("start: %s\n", message);
    std::exit(1);
  }
  const Counter counter("n");
  uint64_t noise = 1;
  uint64_t written = 0;
  const auto write = [&](uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      noise = noise * 6364136223846793005u + 1442695040888963407u;
      counter.set_int(static_cast<int64_t>(noise));
    }
    written += count;
  };
  // No faster than the drain can follow, however busy the machine is: it is the disk that shall
  // fill up.
  struct statvfs disk {};
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (::statvfs(folder.c_str(), &disk) == 0 && disk.f_bavail * disk.f_bsize > 256 * 1024 &&
         std::chrono::steady_clock::now() < give_up) {
    write(20'000);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  write(2'000'000);
  const int failed = table->stop(message, sizeof(message));
  std::printf("stop: %d %s\nwrote %llu\n", failed, message,
              static_cast<unsigned long long>(written));
}

void all_kinds(const std::string& folder) {
  const Session session(folder, quiet());
  stepscope::set_thread_name("the main thread of all");
  const StepscopeRecordTable* table = stepscope::current_table();
  const Counter loss("loss");
  const Counter memory("memory", "bytes");
  for (uint32_t step = 0; step < 3; ++step) {
    STEPSCOPE_SCOPE("train_step");
    {
      const Scope forward(Label("forward", "cpu_op", STEPSCOPE_OPERATOR));
      table->allocate(0x1000, 4096, 0, -1);
      table->flow_begin(step + 1);
    }
    {
      STEPSCOPE_SCOPE("backward");
      table->flow_end(step + 1);
      table->free(0x1000, 4096, 0, -1);
    }
    table->instant(Label("checkpoint").id());
    loss.set(0.5 / (step + 1));
    memory.set_int(1 << step);
    stepscope::step(step);
  }
  table->context(7);
  call_some(1);
  table->context(0);
  std::thread renamed([] {
    call_some(1);
    ::pthread_setname_np(::pthread_self(), "renamed");
  });
  renamed.join();
}

// Starts and stops while other threads record.
void restart(const std::string& folder, int times) {
  std::atomic<bool> is_over{false};
  std::vector<std::thread> workers;
  for (int t = 0; t < 3; ++t) {
    workers.emplace_back([&] {
      while (!is_over.load()) call_some(100);
    });
  }
  for (int i = 0; i < times; ++i) {
    const Session session(folder + "/" + std::to_string(i), quiet());
    call_some(1000);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  is_over.store(true);
  for (std::thread& worker : workers) worker.join();
}

void run_long(const std::string& folder) {
  leave_open(folder, quiet());
  std::printf("recording\n");
  std::fflush(stdout);
  while (true) {
    call_some(20);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void vanish(const std::string& folder) {
  char message[512] = "";
  const StepscopeRecordTable* table = stepscope::current_table();
  StepscopeRecordOptions options = quiet();
  options.bytes = sizeof(options);
  if (table->start(folder.c_str(), &options, message, sizeof(message)) != 0) std::exit(1);
  call_some(100);
  const std::string remove = "rm -rf '" + folder + "'";
  if (std::system(remove.c_str()) != 0) std::exit(4);
  call_many(100'000);
  const int failed = table->stop(message, sizeof(message));
  std::printf("stop: %d %s\n", failed, message);
}

// Counters of the system, for long enough to have some.
void with_counters(const std::string& folder) {
  const Session session(folder);
  volatile double sum = 0;
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(1500);
  while (std::chrono::steady_clock::now() < until) sum = sum + 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: recorder_target MODE FOLDER [NUMBER]\n");
    return 2;
  }
  const std::string mode = argv[1];
  const std::string folder = argv[2];
  const int number = argc > 3 ? std::atoi(argv[3]) : 0;
  const std::map<std::string, std::function<void()>> modes = {
      {"count", [&] { count_up(folder, number, true); }},
      {"flood", [&] { count_up(folder, number, false); }},
      {"forks", [&] { fork_storm(folder, number); }},
      {"threads", [&] { many_threads(folder, number); }},
      {"at-once", [&] { threads_at_once(folder, number); }},
      {"daemon", [&] { daemonise(folder); }},
      {"close-all", [&] { close_all(folder); }},
      {"chroot", [&] { change_root(folder); }},
      {"exec", [&] { exec_chain(folder, number, argv); }},
      {"crash", [&] { crash(folder, number); }},
      {"much", [&] { write_much(folder, number); }},
      {"disk-full", [&] { fill_disk(folder); }},
      {"kinds", [&] { all_kinds(folder); }},
      {"restart", [&] { restart(folder, number); }},
      {"long", [&] { run_long(folder); }},
      {"vanish", [&] { vanish(folder); }},
      {"counters", [&] { with_counters(folder); }},
  };
  const auto chosen = modes.find(mode);
  if (chosen == modes.end()) return 2;
  chosen->second();
  return 0;
}
