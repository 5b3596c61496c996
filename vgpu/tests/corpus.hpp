// The kernels of corpus/ as nvcc compiled them, and what checks rewritten PTX.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace dcgn::test {

// NAME.ptx of all that are there.
std::vector<std::string> corpus_names();
std::string corpus_text(const std::string& name);  // of any file there

// The .ptx file's head for `body`, which is kernels and functions.
std::string ptx_module(const std::string& body);

// Where ptxas is; nothing on machines without CUDA.
std::optional<std::string> find_ptxas();
// Assembles `text` for `target`, with ptxas at `ptxas`. Returns what it says; nothing if all is well.
std::string assemble(const std::string& ptxas, const std::string& text, const std::string& target);

// What Error says; empty where `call` does not throw one.
template <typename Call>
std::string error_of(const Call& call);

}  // namespace dcgn::test

#include <dcgn/error.hpp>

template <typename Call>
std::string dcgn::test::error_of(const Call& call) {
  try {
    call();
  } catch (const dcgn::Error& e) {
    return e.what();
  }
  return {};
}
