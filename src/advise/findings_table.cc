// The view `findings`, and findings as JSON.
#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "advise/advise.h"
#include "analyze/render_json.h"
#include "analyze/text_value.h"

namespace stepscope {
namespace {

std::string text_of(const Figure& figure) {
  switch (figure.unit) {
    case Unit::kNs:
      return text_of_ns(static_cast<int64_t>(figure.value));
    case Unit::kBytes:
      return text_of_bytes(static_cast<int64_t>(figure.value));
    case Unit::kFraction:
      return text_of_fraction(figure.value);
    case Unit::kCount:
      return text_of_count(std::llround(figure.value));
    case Unit::kNone:
      break;
  }
  return text_of_double(figure.value);
}

std::string text_of_evidence(const Finding& finding) {
  std::string text;
  for (const Figure& figure : finding.figures) {
    text += (text.empty() ? "" : ", ") + figure.name + " " + text_of(figure);
  }
  return text;
}

void append_number(std::string& out, double value, Unit unit) {
  std::array<char, 32> text{};
  const bool is_whole = unit == Unit::kNs || unit == Unit::kBytes;
  const auto end =
      is_whole ? std::to_chars(text.data(), text.data() + text.size(), static_cast<int64_t>(value))
               : std::to_chars(text.data(), text.data() + text.size(), value,
                               std::chars_format::general, 6);
  out.append(text.data(), end.ptr);
}

void append_field(std::string& out, std::string_view key, std::string_view text) {
  out += ", \"";
  out += key;
  out += "\": ";
  append_json_string(out, text);
}

void append_evidence(std::string& out, const Finding& finding) {
  out += ", \"evidence\": {\"figures\": [";
  for (size_t i = 0; i < finding.figures.size(); ++i) {
    const Figure& figure = finding.figures[i];
    out += i == 0 ? "{\"name\": " : ", {\"name\": ";
    append_json_string(out, figure.name);
    out += ", \"value\": ";
    append_number(out, figure.value, figure.unit);
    out += ", \"unit\": \"" + std::string(unit_name(figure.unit)) + "\"}";
  }
  out += "], \"slices\": [";
  bool is_first = true;
  for (const SliceId slice : finding.slices) {
    if (slice == kNoSlice) continue;
    out += (is_first ? "" : ", ") + std::to_string(index(slice));
    is_first = false;
  }
  out += "]}";
}

void append_finding(std::string& out, const Finding& finding) {
  out += "{\"id\": ";
  append_json_string(out, finding.id);
  append_field(out, "severity", severity_name(finding.severity));
  append_field(out, "title", finding.title);
  append_field(out, "where", finding.where);
  out += ", \"at_stake_fraction\": ";
  append_number(out, finding.at_stake_fraction, Unit::kFraction);
  append_evidence(out, finding);
  append_field(out, "fix", finding.fix);
  append_field(out, "code", finding.code);
  out += ", \"includes\": [";
  for (size_t i = 0; i < finding.includes.size(); ++i) {
    if (i > 0) out += ", ";
    append_json_string(out, finding.includes[i]);
  }
  out += "]}";
}

}  // namespace

Result<Table> findings(const Trace& trace, const TableOptions&) {
  return make_findings_table(*Advice::of(trace));
}

Table make_findings_table(const Advice& advice) {
  Table table("findings");
  Column& id = table.add("id", ColumnType::kString);
  Column& severity = table.add("severity", ColumnType::kString);
  Column& at_stake = table.add("at_stake_fraction", ColumnType::kDouble, Unit::kFraction);
  Column& title = table.add("title", ColumnType::kString);
  Column& where = table.add("where", ColumnType::kString);
  Column& evidence = table.add("evidence", ColumnType::kString);
  Column& fix = table.add("fix", ColumnType::kString);
  Column& code = table.add("code", ColumnType::kString);
  for (const Finding& finding : advice.findings) {
    id.push(finding.id);
    severity.push(severity_name(finding.severity));
    at_stake.push(finding.at_stake_fraction);
    title.push(finding.title);
    finding.where.empty() ? where.push_null() : where.push(finding.where);
    evidence.push(text_of_evidence(finding));
    fix.push(finding.fix);
    finding.code.empty() ? code.push_null() : code.push(finding.code);
  }
  table.has_sentences = true;
  table.own_json = render_findings_json(advice);
  if (advice.findings.empty()) table.notes.emplace_back("nothing stands out");
  return table;
}

std::string render_findings_json(const Advice& advice) {
  std::string out = "{\"view\": \"findings\", \"findings\": [";
  for (size_t i = 0; i < advice.findings.size(); ++i) {
    out += i == 0 ? "\n" : ",\n";
    append_finding(out, advice.findings[i]);
  }
  out += advice.findings.empty() ? "], \"verdict\": [" : "\n], \"verdict\": [";
  for (size_t i = 0; i < advice.verdict.lines.size(); ++i) {
    if (i > 0) out += ", ";
    append_json_string(out, advice.verdict.lines[i]);
  }
  out += "]}\n";
  return out;
}

}  // namespace stepscope
