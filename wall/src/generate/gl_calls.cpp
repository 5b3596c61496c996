// Writes the GL functions of libdcgn_wall_back_end.so: gl_calls OUTPUT ADJUSTED HEADER... takes every prototype of GL's
// headers and makes a function of it that records the call and passes it on, to dcgn::wall::adjusted where ADJUSTED
// declares it there.
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <fstream>
#include <initializer_list>
#include <iostream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct Parameter {
  std::string type, name;
};

struct Prototype {
  std::string result, name;
  std::vector<Parameter> parameters;
};

std::string trimmed(std::string text) {
  const auto space = [](unsigned char c) { return std::isspace(c) != 0; };
  text.erase(text.begin(), std::find_if_not(text.begin(), text.end(), space));
  text.erase(std::find_if_not(text.rbegin(), text.rend(), space).base(), text.end());
  return text;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::string content_of(const char* path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// Functions of one maker's hardware are left to themselves: hardly a program of GLUT's has them, and there are
// thousands.
bool is_of_a_vendor(const std::string& name) {
  for (const char* vendor :
       {"NV",  "NVX", "AMD", "ATI",  "INTEL", "SGI",  "SGIS", "SGIX", "APPLE",   "MESA", "SUN", "SUNX", "OES", "QCOM",
        "IBM", "HP",  "PGI", "INGR", "3DFX",  "REND", "S3",   "WIN",  "GREMEDY", "OML",  "OVR", "IMG",  "ARM", "VIV"})
    if (ends_with(name, vendor)) return true;
  return false;
}

Parameter parameter_of(std::string text) {
  bool array = false;
  if (const std::size_t bracket = text.find('['); bracket != std::string::npos) {
    text = trimmed(text.substr(0, bracket));
    array = true;
  }
  std::size_t begin = text.size();
  while (begin > 0 && is_word(text[begin - 1])) --begin;
  return {trimmed(text.substr(0, begin)) + (array ? " *" : ""), text.substr(begin)};
}

// GLAPI result APIENTRY name (parameters);
std::vector<Prototype> prototypes_of(const std::string& header) {
  std::vector<Prototype> all;
  for (std::size_t at = 0; (at = header.find("GLAPI ", at)) != std::string::npos;) {
    const std::size_t end = header.find(';', at);
    if (end == std::string::npos) break;
    const std::string text = header.substr(at + 6, end - at - 6);
    at = end;
    const std::size_t open = text.find('('), close = text.rfind(')');
    std::size_t entry = text.find("GLAPIENTRY"), length = 10;
    if (entry == std::string::npos) entry = text.find("APIENTRY"), length = 8;
    if (open == std::string::npos || close == std::string::npos || entry == std::string::npos || entry > open) continue;
    Prototype p{trimmed(text.substr(0, entry)), trimmed(text.substr(entry + length, open - entry - length)), {}};
    std::istringstream list(text.substr(open + 1, close - open - 1));
    for (std::string one; std::getline(list, one, ',');)
      if (trimmed(one) != "void") p.parameters.push_back(parameter_of(trimmed(one)));
    all.push_back(std::move(p));
  }
  return all;
}

// "glUniform3fv": vectors of 3; 0 where the name does not say.
int vector_size(const std::string& name) {
  for (const char* kind : {"bv", "sv", "iv", "fv", "dv", "ubv", "usv", "uiv"})
    if (ends_with(name, kind)) {
      const char digit = name[name.size() - std::string_view(kind).size() - 1];
      const bool matrix = name.find("Matrix") != std::string::npos;
      if (digit >= '1' && digit <= '4') return matrix ? (digit - '0') * (digit - '0') : digit - '0';
    }
  if (name.find("Matrix") != std::string::npos && (ends_with(name, "trixf") || ends_with(name, "trixd"))) return 16;
  return 0;
}

// What is recorded of a parameter: where a pointer's size is known, what it points to.
std::string recorded(const Prototype& p, const Parameter& parameter) {
  const bool pointer = parameter.type.find('*') != std::string::npos;
  const bool one_pointer = std::count(parameter.type.begin(), parameter.type.end(), '*') == 1;
  if (!pointer || !one_pointer || parameter.type.find("const") == std::string::npos) return parameter.name;
  const std::string pointed = parameter.type.substr(0, parameter.type.find('*'));
  const auto has = [&p](const char* name) {
    return std::any_of(p.parameters.begin(), p.parameters.end(), [name](const auto& q) { return q.name == name; });
  };
  std::string size;
  if (const int elements = vector_size(p.name); elements && pointed.find("void") == std::string::npos) {
    size = std::to_string(elements) + " * sizeof(*" + parameter.name + ")";
    if (has("count")) size = "dcgn::wall::whole(count) * " + size;
  } else if (parameter.name == "data" && has("size") && pointed.find("void") != std::string::npos) {
    size = "dcgn::wall::whole(size)";
  }
  return size.empty() ? parameter.name : "dcgn::wall::Contents{" + parameter.name + ", " + size + "}";
}

void write_function(std::ostream& out, std::size_t number, const Prototype& p, bool adjusted) {
  std::string list, names, types, notes;
  for (const Parameter& q : p.parameters) {
    const char* const comma = list.empty() ? "" : ", ";
    list += comma + q.type + " " + q.name;
    names += comma + q.name;
    types += comma + q.type;
    notes += comma + recorded(p, q);
  }
  out << p.result << " " << p.name << "(" << list << ") {\n  if (dcgn::wall::recording) dcgn::wall::note_call("
      << number << ", {" << notes << "});\n";
  if (adjusted) {
    out << "  return dcgn::wall::adjusted::" << p.name << "(" << names << ");\n}\n";
  } else {
    out << "  return DCGN_REAL_AS(" << p.result << "(" << types << "), \"" << p.name << "\")(" << names << ");\n}\n";
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "usage: gl_calls OUTPUT ADJUSTED HEADER...\n";
    return 2;
  }
  const std::string adjusted = content_of(argv[2]);
  std::vector<Prototype> all;
  std::set<std::string> known;
  for (int i = 3; i < argc; ++i)
    for (Prototype& p : prototypes_of(content_of(argv[i])))
      if (!is_of_a_vendor(p.name) && known.insert(p.name).second) all.push_back(std::move(p));
  std::ofstream out(argv[1]);
  out << "// Written by wall/src/generate/gl_calls.cpp from this machine's GL headers.\n"
         "#include \"wall/src/back_end/adjusted.hpp\"\n#include \"wall/src/back_end/calls.hpp\"\n"
         "#include \"wall/src/back_end/real.hpp\"\n\nnamespace dcgn::wall {\n\n"
         "static std::size_t whole(long long count) { return count < 0 ? 0 : static_cast<std::size_t>(count); }\n\n"
         "const char* const function_names[] = {\n";
  for (const Prototype& p : all) out << "    \"" << p.name << "\",\n";
  out << "};\n\n}  // namespace dcgn::wall\n\nextern \"C\" {\n";
  for (std::size_t i = 0; i < all.size(); ++i)
    write_function(out, i, all[i], adjusted.find(" " + all[i].name + "(") != std::string::npos);
  out << "}\n";
  out.close();
  if (all.size() < 300 || !out) {
    std::cerr << "gl_calls: " << argv[1] << ": " << all.size() << " functions of GL: expected more, and a file\n";
    return 1;
  }
}
