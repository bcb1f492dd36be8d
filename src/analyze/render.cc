#include "analyze/render.h"

#include "analyze/render_csv.h"
#include "analyze/render_json.h"
#include "analyze/render_markdown.h"
#include "analyze/render_text.h"

namespace stepscope {

std::optional<TableFormat> find_table_format(std::string_view name) {
  if (name == "text") return TableFormat::kText;
  if (name == "json") return TableFormat::kJson;
  if (name == "csv") return TableFormat::kCsv;
  if (name == "md" || name == "markdown") return TableFormat::kMarkdown;
  return std::nullopt;
}

void render_table(const Table& table, TableFormat format, const TextStyle& style,
                  const TextSink& sink) {
  switch (format) {
    case TableFormat::kText:
      return render_text(table, style, sink);
    case TableFormat::kJson:
      return render_json(table, sink);
    case TableFormat::kCsv:
      return render_csv(table, sink);
    case TableFormat::kMarkdown:
      return render_markdown(table, sink);
  }
}

std::string render_table(const Table& table, TableFormat format, const TextStyle& style) {
  std::string text;
  render_table(table, format, style, [&](std::string_view chunk) { text += chunk; });
  return text;
}

}  // namespace stepscope
