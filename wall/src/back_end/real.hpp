// The functions behind this library, which stands in front of freeglut, GL and a few of the C library.
#pragma once

namespace dcgn::wall {

// Null where there is none.
void* real_function(const char* name);
void* real_dlsym(void* library, const char* name);
// Ours of that name, for whoever looks it up at run time; null where we have none, or there is none behind it.
void* own_function(const char* name);

}  // namespace dcgn::wall

// The real function of that type and name: DCGN_REAL_AS(void(int), "glutSetWindow")(1).
// NOLINTBEGIN(bugprone-macro-parentheses): a type
#define DCGN_REAL_AS(type, name)                                                                               \
  ([] {                                                                                                        \
    static const auto behind =                                                                                 \
        reinterpret_cast<std::add_pointer_t<type>>(dcgn::wall::real_function(name)); /* one look-up a place */ \
    return behind;                                                                                             \
  }())
// NOLINTEND(bugprone-macro-parentheses)

// Where its header is included, its type is known.
#define DCGN_REAL(function) DCGN_REAL_AS(decltype(::function), #function)
