#include "collect/system/proc_text.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace stepscope {
namespace {

constexpr std::string_view kMachine =
    "cpu  917598 830880 296454 440282 4923 10 1065 6501 0 0\n"
    "cpu0 447126 410373 142864 244066 1109 4 109 3194 0 0\n"
    "cpu1 470471 420507 153589 196216 3813 6 955 3307 0 0\n"
    "intr 7562312 0 0 0 0 1 1 15\nctxt 8753725\nbtime 1794778016\nprocesses 267864\n"
    "procs_running 5\nprocs_blocked 0\nsoftirq 3660423 0 718460\n";

constexpr std::string_view kNetwork =
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs\n"
    "    lo:    6460      58    0    0    0     0          0         0     6460      58    0\n"
    "  eth0: 1478931995   33005    0    0    0     0          0         0  2066245   21228    0\n"
    "  ib0:5 1 0 0 0 0 0 0 7 1 0\n"
    "  eth0.100: 11 1 0 0 0 0 0 0 12 1 0\n"
    "vethab12: 11 1 0 0 0 0 0 0 12 1 0\n";

constexpr std::string_view kIo =
    "rchar: 7275\nwchar: 299\nsyscr: 12\nsyscw: 1\nread_bytes: 4096\nwrite_bytes: 8192\n"
    "cancelled_write_bytes: 1\n";

TEST(ParseMachineStat, AddsUpWhatACoreDid) {
  MachineStat stat;
  std::array<CoreTicks, 3> cores;
  cores[2].busy = 77;
  ASSERT_TRUE(parse_machine_stat(kMachine, stat, cores));
  EXPECT_EQ(stat.all.busy, 917598u + 830880u + 296454u + 10u + 1065u);
  EXPECT_EQ(stat.all.idle, 440282u);
  EXPECT_EQ(stat.all.iowait, 4923u);
  EXPECT_EQ(stat.all.steal, 6501u);
  EXPECT_EQ(stat.core_lines, 2u);
  EXPECT_EQ(cores[1].idle, 196216u);
  EXPECT_EQ(cores[2].busy, 77u) << "a core without a line keeps its figures";
  EXPECT_EQ(stat.forks, 267864u);
  EXPECT_EQ(stat.running_tasks, 5);
}

TEST(ParseMachineStat, LeavesOutCoresBeyondThoseAskedFor) {
  MachineStat stat;
  std::array<CoreTicks, 1> cores;
  EXPECT_TRUE(parse_machine_stat(kMachine, stat, cores));
  EXPECT_EQ(cores[0].idle, 244066u);
  EXPECT_EQ(stat.core_lines, 2u);
}

TEST(ParseMachineStat, SaysWhatIsMissingInACutText) {
  MachineStat stat;
  EXPECT_TRUE(parse_machine_stat(kMachine.substr(0, kMachine.find("ctxt")), stat, {}));
  EXPECT_EQ(stat.running_tasks, -1);
}

TEST(ParseProcessIo, ReadsStorageBytesNotThoseOfCalls) {
  ProcessIo io;
  ASSERT_TRUE(parse_process_io(kIo, io));
  EXPECT_EQ(io.read_bytes, 4096u);
  EXPECT_EQ(io.written_bytes, 8192u);
  EXPECT_FALSE(parse_process_io("rchar: 1\nread_bytes: 5\n", io));
}

TEST(ParseNetDev, SumsInterfacesThatLeadOut) {
  NetworkBytes bytes;
  ASSERT_TRUE(parse_net_dev(kNetwork, bytes));
  EXPECT_EQ(bytes.received, 1478931995u + 5u);
  EXPECT_EQ(bytes.sent, 2066245u + 7u);
}

TEST(ParseSchedstat, ReadsTheTimesOfAThread) {
  ThreadTimes times;
  ASSERT_TRUE(parse_schedstat("20479215 68658 12\n", times));
  EXPECT_EQ(times.running_ns, 20479215u);
  EXPECT_EQ(times.queued_ns, 68658u);
  EXPECT_FALSE(parse_schedstat("", times));
  EXPECT_FALSE(parse_schedstat("17", times));
}

TEST(ParsePids, ReadsAListOfNumbersUpToWhatIsNone) {
  std::vector<int32_t> pids;
  parse_pids("12 4194304 7 ", pids);
  parse_pids("", pids);
  parse_pids("99999999999999999999 5", pids);
  parse_pids("0 -3 8 x 9", pids);
  EXPECT_EQ(pids, (std::vector<int32_t>{12, 4194304, 7, 8}));
}

// Every text into every function, cut at every byte and with bytes changed.
TEST(ProcText, NoTextMakesItFail) {
  for (const std::string_view text : {kMachine, kNetwork, kIo}) {
    for (size_t i = 0; i < text.size(); ++i) {
      std::string changed(text);
      changed[i] = static_cast<char>(changed[i] ^ (1 << (i % 8)));
      const std::string_view cut = text.substr(0, i);
      const std::string_view tail = text.substr(i);
      for (const std::string_view one : {std::string_view(changed), cut, tail}) {
        MachineStat machine;
        std::array<CoreTicks, 2> cores;
        ProcessIo io;
        NetworkBytes bytes;
        std::vector<int32_t> pids;
        parse_machine_stat(one, machine, cores);
        parse_process_io(one, io);
        parse_net_dev(one, bytes);
        parse_pids(one, pids);
        ThreadTimes times;
        parse_schedstat(one, times);
      }
    }
  }
}

}  // namespace
}  // namespace stepscope
