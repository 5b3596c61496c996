#include "tool/bench_document.hpp"

#include "bench/json.hpp"
#include "bench/machine.hpp"
#include "tool/exit_code.hpp"

#include <fmt/format.h>

namespace dcgn::tool {

BenchDocument::BenchDocument(const std::string& what, JsonOption& json, bool quiet)
    : json_(json), quiet_(quiet || json.on_stdout()) {
  json_.open();
  document_ = {{"what", what},
               {"commit", bench::commit()},
               {"machine", bench::machine()},
               {"command", bench::command()},
               {"date", bench::date_now()}};
  if (!quiet_)
    for (const char* key : {"machine", "commit", "date", "command"})
      fmt::print("# {:<8} {}\n", key, document_[key].get<std::string>());
}

nlohmann::ordered_json& BenchDocument::add(const bench::Row& row) { return add(bench::to_json(row), row.wrong); }

nlohmann::ordered_json& BenchDocument::add(nlohmann::ordered_json row, std::uint64_t wrong) {
  wrong_ += wrong;
  return rows_.emplace_back(std::move(row));
}

int BenchDocument::finish() {
  document_["rows"] = rows_;
  json_.write(document_.dump(1));
  if (wrong_)
    fmt::print(stderr, "dcgn: bench: {} {} were wrong\n", wrong_,
               document_["what"] == "apps"   ? "bodies, rows or pixels"
               : document_["what"] == "coll" ? "elements"
               : document_["what"] == "vgpu" ? "words"
                                             : "bytes or messages");
  return wrong_ ? exit_job_failed : exit_ok;
}

}  // namespace dcgn::tool
