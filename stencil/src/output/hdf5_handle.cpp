#if defined(DCGN_HAS_HDF5)
#include "stencil/src/output/hdf5_handle.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace dcgn::stencil {

namespace {

// After a file whose metadata were damaged, HDF5 1.10 complains on stderr when the program ends that it cannot close
// itself down. Nothing is lost where it does not try to: what is opened here is closed here.
bool let_be_at_exit() { return H5dont_atexit() >= 0; }

std::recursive_mutex& hdf5_mutex() {
  static std::recursive_mutex mutex;
  [[maybe_unused]] static const bool once = let_be_at_exit();
  return mutex;
}

template <class T>
inline constexpr bool is_text = std::is_same_v<T, std::string>;
template <class T>
inline constexpr bool is_list = std::is_same_v<T, std::vector<double>>;

// Of numbers.
template <class T>
hid_t number_type() {
  return std::is_same_v<T, std::int64_t> ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE;
}

}  // namespace

Hdf5Turn::Hdf5Turn() : lock_(hdf5_mutex()) {
  H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Hdf5Turn::~Hdf5Turn() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }

std::string Hdf5::reason() {
  std::string text = "HDF5 gives no reason";
  const auto take = [](unsigned index, const H5E_error2_t* error, void* to) -> herr_t {
    if (index == 0 && error->desc) *static_cast<std::string*>(to) = error->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take, &text);
  // Of what the system refused HDF5 has two lines, with addresses: what it was and the system's reason will do.
  const std::string_view before = "error message = '";
  if (const std::size_t time = text.find(": time = "), at = text.find(before);
      time != std::string::npos && at != std::string::npos) {
    const std::size_t from = at + before.size();
    text = text.substr(0, time) + ": " + text.substr(from, text.find('\'', from) - from);
  }
  std::ranges::replace(text, '\n', ' ');
  return text;
}

Hdf5Handle Hdf5::own(hid_t id, herr_t (*close)(hid_t)) const {
  check(id);
  return {id, close};
}

Hdf5Handle Hdf5::group(hid_t parent, const char* name) const {
  return own(H5Gcreate2(parent, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), &H5Gclose);
}

Hdf5Handle Hdf5::layers(hid_t set, std::int64_t first, std::int64_t count) const {
  Hdf5Handle space = own(H5Dget_space(set), &H5Sclose);
  std::array<hsize_t, H5S_MAX_RANK> start{}, extents{};
  check(H5Sget_simple_extent_dims(space, extents.data(), nullptr));
  start[0] = static_cast<hsize_t>(first);
  extents[0] = static_cast<hsize_t>(count);
  check(H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, extents.data(), nullptr));
  return space;
}

Hdf5Handle Hdf5::memory_of(hid_t selection) const {
  const auto cells = static_cast<hsize_t>(H5Sget_select_npoints(selection));
  return own(H5Screate_simple(1, &cells, nullptr), &H5Sclose);
}

template <class T>
void Hdf5::put(hid_t object, const char* name, const T& value) const {
  Hdf5Handle space, type;
  const void* data = &value;
  if constexpr (is_text<T>) {
    type = own(H5Tcopy(H5T_C_S1), &H5Tclose);
    check(H5Tset_size(type, std::max<std::size_t>(1, value.size())));
    data = value.c_str();
  } else {
    type = own(H5Tcopy(number_type<T>()), &H5Tclose);
  }
  if constexpr (is_list<T>) {
    const hsize_t count = value.size();
    space = own(H5Screate_simple(1, &count, nullptr), &H5Sclose);
    data = value.data();
  } else {
    space = own(H5Screate(H5S_SCALAR), &H5Sclose);
  }
  const Hdf5Handle attribute = own(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT), &H5Aclose);
  check(H5Awrite(attribute, type, data));
}

template <class T>
T Hdf5::get(hid_t object, const char* name) const {
  const Hdf5Handle attribute = own(H5Aopen(object, name, H5P_DEFAULT), &H5Aclose);
  const Hdf5Handle type = own(H5Aget_type(attribute), &H5Tclose);
  const Hdf5Handle space = own(H5Aget_space(attribute), &H5Sclose);
  const H5T_class_t kind = is_text<T> ? H5T_STRING : std::is_same_v<T, std::int64_t> ? H5T_INTEGER : H5T_FLOAT;
  const hssize_t count = H5Sget_simple_extent_npoints(space);
  const bool fits = is_list<T> ? count >= 0 && count <= H5S_MAX_RANK : count == 1;
  if (H5Tget_class(type) != kind || !fits || H5Tis_variable_str(type) > 0)
    fail(std::string("its attribute '") + name + "' is of another type");
  T value{};
  if constexpr (is_text<T>) {
    value.resize(H5Tget_size(type));
    check(H5Aread(attribute, type, value.data()));
    value.resize(std::min(value.size(), value.find('\0')));
  } else if constexpr (is_list<T>) {
    value.resize(static_cast<std::size_t>(count));
    check(H5Aread(attribute, number_type<T>(), value.data()));
  } else {
    check(H5Aread(attribute, number_type<T>(), &value));
  }
  return value;
}

template void Hdf5::put(hid_t, const char*, const double&) const;
template void Hdf5::put(hid_t, const char*, const std::int64_t&) const;
template void Hdf5::put(hid_t, const char*, const std::string&) const;
template void Hdf5::put(hid_t, const char*, const std::vector<double>&) const;
template double Hdf5::get(hid_t, const char*) const;
template std::int64_t Hdf5::get(hid_t, const char*) const;
template std::string Hdf5::get(hid_t, const char*) const;
template std::vector<double> Hdf5::get(hid_t, const char*) const;

std::vector<std::string> Hdf5::attribute_names(hid_t object) const {
  std::vector<std::string> names;
  const auto take = [](hid_t, const char* name, const H5A_info_t*, void* to) -> herr_t {
    static_cast<std::vector<std::string>*>(to)->emplace_back(name);
    return 0;
  };
  check(H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, nullptr, take, &names));
  return names;
}

std::vector<std::string> Hdf5::link_names(hid_t group) const {
  std::vector<std::string> names;
  const auto take = [](hid_t, const char* name, const H5L_info_t*, void* to) -> herr_t {
    static_cast<std::vector<std::string>*>(to)->emplace_back(name);
    return 0;
  };
  check(H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, take, &names));
  return names;
}

}  // namespace dcgn::stencil
#endif
