#include "cli/table_output.h"

#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Validators.hpp>
#include <string_view>
#include <vector>

#include "analyze/fault_summary.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "export/json_text.h"

namespace stepscope::cli {

void add_table_output_options(CLI::App& command, TableOutputOptions& options) {
  command
      .add_option("-f,--format", options.format,
                  "How to print: text, json, csv or md (Markdown); text if not given")
      ->check([](const std::string& name) {
        if (find_table_format(name)) return std::string();
        return "unknown format '" + name + "'; there are: " + std::string(kTableFormatNames);
      })
      ->type_name("FORMAT");
  command
      .add_option("-o,--output", options.path,
                  "Write to this file (.gz and .zst are compressed) instead of standard output")
      ->type_name("FILE");
}

Result<std::unique_ptr<TableOutput>> TableOutput::create(const TableOutputOptions& options,
                                                         bool has_several_tables,
                                                         bool has_several_paths) {
  std::unique_ptr<TableOutput> output(new TableOutput);
  output->format_ = find_table_format(options.format).value_or(TableFormat::kText);
  output->has_several_tables_ = has_several_tables;
  output->has_several_paths_ = has_several_paths;
  const bool is_stdout = options.path == "-";
  output->style_.width = is_stdout ? find_output_width() : kPipeWidth;
  output->style_.color = is_stdout && wants_color(STDOUT_FILENO);
  auto out = OutputFile::create(options.path);
  if (!out) return out.status();
  output->out_ = *std::move(out);
  return output;
}

void TableOutput::add(const Table& table, const std::string& path) {
  if (format_ == TableFormat::kJson) {
    add_json(table, path);
  } else {
    if (has_several_tables_) add_heading(table, path);
    render_table(table, format_, style_, [this](std::string_view chunk) { out_->append(chunk); });
  }
  if (format_ == TableFormat::kCsv) print_remarks(table, path);
  is_first_ = false;
  last_path_ = path;
  out_->flush();
}

void TableOutput::add_heading(const Table& table, const std::string& path) {
  const bool is_markdown = format_ == TableFormat::kMarkdown;
  if (!is_first_) out_->append("\n");
  if (has_several_paths_ && (is_first_ || path != last_path_)) {
    out_->append(is_markdown ? "## " + path + "\n\n" : "==> " + path + " <==\n");
  }
  if (is_markdown) {
    out_->append("### " + table.view() + "\n\n");
  } else if (style_.color) {
    out_->append("\x1b[1;4m" + table.view() + "\x1b[0m\n");
  } else {
    out_->append(table.view() + ":\n");
  }
}

void TableOutput::add_json(const Table& table, const std::string& path) {
  if (has_several_tables_) out_->append(is_first_ ? "[\n" : ",\n");
  bool is_begin = true;
  render_table(table, format_, style_, [&](std::string_view chunk) {
    if (is_begin && has_several_paths_ && chunk.starts_with('{')) {
      std::string with_path = "{\"path\": ";
      json::append_string(with_path, path);
      out_->append(with_path + ", ");
      chunk.remove_prefix(1);
    }
    is_begin = false;
    out_->append(chunk);
  });
}

void TableOutput::print_remarks(const Table& table, const std::string& path) const {
  const std::string faults = fault_summary(table.stats);
  if (!faults.empty()) print_remark(path + ": " + faults);
  const std::string missed = sampler_summary(table.stats);
  if (!missed.empty()) print_remark(path + ": " + missed);
  for (const std::string& note : table.notes)
    print_remark(path + ": " + table.view() + ": " + note);
}

Status TableOutput::finish() {
  if (format_ == TableFormat::kJson && has_several_tables_)
    out_->append(is_first_ ? "[]\n" : "]\n");
  return out_->finish();
}

}  // namespace stepscope::cli
