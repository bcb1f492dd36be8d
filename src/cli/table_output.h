// TableOutput: where a command prints its tables, one or several, in the format that the user asked
// for. What the format has no place for goes to stderr.
//
//   auto out = TableOutput::create({.format = "json"}, 1);
//   (*out)->add(table, "trace.json");
//   return (*out)->finish();
#pragma once

#include <memory>
#include <string>

#include "analyze/render.h"
#include "analyze/table.h"
#include "base/status.h"
#include "export/output_file.h"

namespace CLI {
class App;
}

namespace stepscope::cli {

struct TableOutputOptions {
  std::string format = "text";
  std::string path = "-";
};

// Adds --format and --output.
void add_table_output_options(CLI::App& command, TableOutputOptions& options);

class TableOutput {
 public:
  // With several tables, text and Markdown have headings and JSON is an array, whose objects also
  // have "path". Fails where the file can not be written.
  static Result<std::unique_ptr<TableOutput>> create(const TableOutputOptions& options,
                                                     bool has_several_tables,
                                                     bool has_several_paths);

  void add(const Table& table, const std::string& path);
  Status finish();
  bool ok() const { return out_->ok(); }

 private:
  TableOutput() = default;
  void add_heading(const Table& table, const std::string& path);
  void add_json(const Table& table, const std::string& path);
  void print_remarks(const Table& table, const std::string& path) const;

  TableFormat format_ = TableFormat::kText;
  TextStyle style_;
  bool has_several_tables_ = false;
  bool has_several_paths_ = false;
  std::unique_ptr<OutputFile> out_;
  std::string last_path_;
  bool is_first_ = true;
};

}  // namespace stepscope::cli
