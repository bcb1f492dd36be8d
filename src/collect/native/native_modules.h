// NativeModules: the programs and libraries that a process has loaded: where their unwinding tables
// lie, their functions by address, and their memory that does not change. Looked at again where an
// address is in none of them, and once a second.
//
//   NativeModules modules(memory, python.binary());
//   const NativeModules::Module* module = modules.find(instruction);
//   module->unwind_table …
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/flat_map.h"
#include "collect/native/module_symbols.h"
#include "collect/sample/process_maps.h"
#include "collect/sample/process_memory.h"

namespace stepscope::sample {

class NativeModules {
 public:
  struct Module {
    uint64_t begin = 0;  // of its code
    uint64_t end = 0;
    uint64_t file_offset = 0;
    std::string path;
    uint64_t header = 0;  // where its ELF header lies; 0: it has none
    uint64_t bias = 0;    // of addresses to those as linked
    uint64_t unwind_header = 0;
    uint64_t unwind_table = 0;
    uint64_t unwind_count = 0;                     // 0: it has no table
    std::shared_ptr<const ModuleSymbols> symbols;  // shared by the processes that loaded the file
  };

  NativeModules(const ProcessMemory& memory) : memory_(memory) {}

  // The module that holds the code at the address; null where there is none.
  Module* find(uint64_t address);
  // Of a module; read where they are first asked for.
  const ModuleSymbols& symbols_of(Module& module);
  // Where the memory that holds the address ends; 0 where there is none.
  uint64_t end_of_mapping(uint64_t address);
  // A word of memory that the process does not write to.
  bool read_constant(uint64_t address, uint64_t& word);
  // A word of a module's variables, as it is now.
  bool read_variable(uint64_t address, uint64_t& word) const;

  // Looks again if that was some time ago.
  void refresh_at_times();
  // Changes when modules came or went.
  uint64_t generation() const { return generation_; }

 private:
  static constexpr uint64_t kPageBytes = 4096;
  using Page = std::array<uint8_t, kPageBytes>;

  bool refresh(int64_t age_ns);
  void describe(Module& module);
  void find_unwind_table(Module& module, uint64_t address);
  std::shared_ptr<const ModuleSymbols> load_symbols(const Module& module) const;
  bool is_what_is_loaded(const Module& module, const ModuleSymbols::Source& source) const;
  const Page* find_page(uint64_t page);

  const ProcessMemory& memory_;
  int64_t refreshed_ns_ = 0;
  uint64_t generation_ = 0;
  std::vector<Mapping> mappings_;
  std::vector<std::unique_ptr<Module>> modules_;  // by begin
  FlatMap page_numbers_;
  std::vector<std::unique_ptr<Page>> pages_;
  uint64_t last_page_ = 0;
  const Page* last_ = nullptr;
};

}  // namespace stepscope::sample
