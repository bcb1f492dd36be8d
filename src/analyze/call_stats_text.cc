// The lines that pstats prints, from a CallStats.
#include "analyze/call_stats.h"
#include "trace/function_name.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

namespace stepscope {
namespace {

constexpr std::string_view kNoTime = "        ";

size_t count_characters(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

void append_int(std::string& out, int64_t value) {
  char text[24];
  const auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  out.append(text, end);
}

size_t int_width(int64_t value) {
  char text[24];
  return static_cast<size_t>(std::to_chars(text, text + sizeof(text), value).ptr - text);
}

// "3/1", to the right.
void append_calls(std::string& out, const CallFigures& figures, size_t width) {
  const size_t begin = out.size();
  append_int(out, figures.calls);
  if (figures.calls != figures.primitive_calls) {
    out += '/';
    append_int(out, figures.primitive_calls);
  }
  const size_t used = out.size() - begin;
  if (used < width) out.insert(begin, width - used, ' ');
}

void append_per_call(std::string& out, double seconds, int64_t calls) {
  if (calls == 0) {
    out += kNoTime;
  } else {
    append_seconds(out, seconds / static_cast<double>(calls));
  }
}

}  // namespace

void append_seconds(std::string& out, double seconds) {
  constexpr size_t kWidth = 8;
  char text[400];  // 1.8e308 has 309 digits before the point
  char* end = text;
  if (std::isnan(seconds)) {
    end = std::copy_n("nan", 3, text);
  } else {
    end = std::to_chars(text, text + sizeof(text), seconds, std::chars_format::fixed, 3).ptr;
  }
  const auto length = static_cast<size_t>(end - text);
  if (length < kWidth) out.append(kWidth - length, ' ');
  out.append(text, length);
}

void CallStats::append_standard_name(std::string& out, uint32_t number) const {
  const CallProfile::Function& function = profile_.functions()[number];
  const std::string_view name = profile_.string(function.name);
  const std::string_view file = profile_.string(function.file);
  if (file != kBuiltInFile || function.line != 0) {
    out.append(file).append(1, ':');
    append_int(out, function.line);
    out.append(1, '(').append(name).append(1, ')');
  } else if (name.starts_with('<') && name.ends_with('>')) {
    out.append(1, '{').append(name.substr(1, name.size() - 2)).append(1, '}');
  } else {
    out += name;
  }
}

std::string CallStats::standard_name(uint32_t function) const {
  std::string name;
  append_standard_name(name, function);
  return name;
}

size_t CallStats::standard_width(uint32_t number) const {
  const CallProfile::Function& function = profile_.functions()[number];
  const std::string_view file = profile_.string(function.file);
  const size_t name_width = count_characters(profile_.string(function.name));
  if (file == kBuiltInFile && function.line == 0) return name_width;
  return count_characters(file) + int_width(function.line) + name_width + 3;
}

size_t CallStats::standard_width(std::span<const uint32_t> rows) const {
  size_t width = 0;
  for (const uint32_t row : rows) {
    width = std::max(width, standard_width(profile_.entries()[row].function));
  }
  return width;
}

std::string CallStats::format_stats(std::span<const uint32_t> rows) const {
  constexpr size_t kCallsWidth = 9;
  std::string out;
  for (const uint32_t row : rows) {
    const CallProfile::Entry& entry = profile_.entries()[row];
    const CallFigures& figures = entry.figures;
    append_calls(out, figures, kCallsWidth);
    out += ' ';
    append_seconds(out, figures.self_s);
    out += ' ';
    append_per_call(out, figures.self_s, figures.calls);
    out += ' ';
    append_seconds(out, figures.total_s);
    out += ' ';
    append_per_call(out, figures.total_s, figures.primitive_calls);
    out += ' ';
    append_standard_name(out, entry.function);
    out += '\n';
  }
  return out;
}

void CallStats::append_heading(std::string& out, size_t width, std::string_view title) const {
  constexpr std::string_view kFunction = "Function ";
  out.append(kFunction).append(width - std::min(width, kFunction.size()), ' ');
  out.append(title).append(1, '\n');
  const auto entries = profile_.entries();
  const auto first =
      std::find_if(entries.begin(), entries.end(),
                   [](const CallProfile::Entry& entry) { return !entry.callers.empty(); });
  if (first == entries.end() || !first->callers.front().has_times) return;
  out.append(width, ' ').append("    ncalls  tottime  cumtime\n");
}

bool CallStats::comes_before(uint32_t a, uint32_t b) const {
  const CallProfile::Function &f = profile_.functions()[a], &g = profile_.functions()[b];
  if (f.file != g.file) return profile_.string(f.file) < profile_.string(g.file);
  if (f.line != g.line) return f.line < g.line;
  return profile_.string(f.name) < profile_.string(g.name);
}

Status CallStats::append_call_line(std::string& out, size_t width, uint32_t function,
                                   std::string_view arrow, std::vector<Callee> others) const {
  const size_t own_width = standard_width(function);
  append_standard_name(out, function);
  out.append(width - std::min(width, own_width), ' ').append(arrow).append(1, ' ');
  if (others.empty()) out += '\n';
  std::sort(others.begin(), others.end(), [this](const Callee& a, const Callee& b) {
    return comes_before(a.function, b.function);
  });
  bool is_first = true;
  for (const auto& [other, caller] : others) {
    const CallFigures& figures = caller.figures;
    if (caller.has_times) {
      if (!is_first) out.append(width + 1, ' ');
      append_calls(out, figures, is_first ? 7 : 9);
      out += ' ';
      append_seconds(out, figures.self_s);
      out += ' ';
      append_seconds(out, figures.total_s);
      out += "  ";
      append_standard_name(out, other);
    } else {
      if (!is_first) out.append(width + 3, ' ');
      append_standard_name(out, other);
      out += '(';
      append_int(out, figures.calls);
      out += ") ";
      const CallProfile::Entry* entry = profile_.find_entry(other);
      if (entry == nullptr) return Status::error(standard_name(other) + ": has no entry");
      append_seconds(out, entry->figures.total_s);
    }
    out += '\n';
    is_first = false;
  }
  return {};
}

Result<std::string> CallStats::format_callers(std::span<const uint32_t> rows, size_t width) const {
  std::string out;
  append_heading(out, width, "was called by...");
  for (const uint32_t row : rows) {
    const CallProfile::Entry& entry = profile_.entries()[row];
    std::vector<Callee> callers;
    for (const CallProfile::Caller& caller : entry.callers) {
      callers.push_back({caller.function, caller});
    }
    Status status = append_call_line(out, width, entry.function, "<-", std::move(callers));
    if (!status) return status;
  }
  return out;
}

Result<std::string> CallStats::format_callees(std::span<const uint32_t> rows, size_t width) {
  const std::vector<std::vector<Callee>>& all = callees();
  std::string out;
  append_heading(out, width, "called...");
  for (const uint32_t row : rows) {
    const uint32_t function = profile_.entries()[row].function;
    // Functions that were added since the callees were worked out have none.
    std::vector<Callee> callees = function < all.size() ? all[function] : std::vector<Callee>();
    Status status = append_call_line(out, width, function, "->", std::move(callees));
    if (!status) return status;
  }
  return out;
}

}  // namespace stepscope
