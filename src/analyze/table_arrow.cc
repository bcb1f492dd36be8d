#include "analyze/table_arrow.h"

#include "analyze/arrow_batch.h"

#include <algorithm>
#include <utility>

namespace stepscope {
namespace {

class TableSource : public ArrowSource {
 public:
  explicit TableSource(std::shared_ptr<const Table> table) : table_(std::move(table)) {}

  std::vector<ArrowField> fields() override {
    std::vector<ArrowField> fields;
    for (const Column& column : table_->columns()) {
      fields.push_back({column.name(), format_of(column.type()),
                        std::string(unit_name(column.unit())), true, ""});
    }
    return fields;
  }

  Result<std::optional<std::vector<ArrowColumnData>>> next() override {
    if (next_row_ >= table_->rows()) return std::optional<std::vector<ArrowColumnData>>();
    const size_t begin = next_row_;
    size_t end = std::min<size_t>(table_->rows(), begin + kArrowBatchRows);
    // Long texts make a batch shorter, so that each of its columns fits 32-bit offsets.
    for (const Column& column : table_->columns()) end = find_end(column, begin, end);
    if (end == begin) return Status::error("a text is too long for an Arrow batch");
    std::vector<ArrowColumnData> batch;
    for (const Column& column : table_->columns()) batch.push_back(make_column(column, begin, end));
    next_row_ = end;
    return std::optional(std::move(batch));
  }

 private:
  static const char* format_of(ColumnType type) {
    switch (type) {
      case ColumnType::kInt:
        return "l";
      case ColumnType::kDouble:
        return "g";
      case ColumnType::kString:
        return "u";
      case ColumnType::kBool:
        return "b";
    }
    return "";
  }

  static size_t find_end(const Column& column, size_t begin, size_t end) {
    if (column.type() != ColumnType::kString) return end;
    uint64_t bytes = 0;
    for (size_t row = begin; row < end; ++row) {
      bytes += column.get_string(row).size();
      if (bytes > INT32_MAX / 3) return row;
    }
    return end;
  }

  static ArrowColumnData make_column(const Column& column, size_t begin, size_t end) {
    ArrowValidity validity(end - begin);
    for (size_t row = begin; row < end; ++row) validity.push(!column.is_null(row));
    ArrowColumnData data;
    data.length = static_cast<int64_t>(end - begin);
    data.null_count = validity.null_count();
    data.buffers.push_back(validity.finish());
    switch (column.type()) {
      case ColumnType::kInt: {
        std::vector<int64_t> values;
        values.reserve(end - begin);
        for (size_t row = begin; row < end; ++row) values.push_back(column.get_int(row));
        data.buffers.push_back(make_arrow_buffer(values));
        break;
      }
      case ColumnType::kDouble: {
        std::vector<double> values;
        values.reserve(end - begin);
        for (size_t row = begin; row < end; ++row) values.push_back(column.get_double(row));
        data.buffers.push_back(make_arrow_buffer(values));
        break;
      }
      case ColumnType::kBool: {
        std::vector<uint8_t> bits((end - begin + 7) / 8, 0);
        for (size_t row = begin; row < end; ++row) {
          const size_t bit = row - begin;
          if (column.get_int(row) != 0)
            bits[bit / 8] = static_cast<uint8_t>(bits[bit / 8] | (1u << (bit % 8)));
        }
        data.buffers.push_back(make_arrow_buffer(bits));
        break;
      }
      case ColumnType::kString: {
        ArrowText text;
        for (size_t row = begin; row < end; ++row) {
          CHECK(text.push(column.get_string(row)),
                "find_end() keeps the texts of a batch short enough");
        }
        data = text.finish(data.buffers.front(), data.null_count);
        break;
      }
    }
    return data;
  }

  std::shared_ptr<const Table> table_;
  size_t next_row_ = 0;
};

}  // namespace

void export_table(std::shared_ptr<const Table> table, ArrowArrayStream* out) {
  make_arrow_stream(std::make_unique<TableSource>(std::move(table)), out);
}

}  // namespace stepscope
