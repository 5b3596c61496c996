// HDF5's C interface with errors as exceptions and handles that close themselves. Included where HDF5 is.
#pragma once

#include <dcgn/error.hpp>

#include <hdf5.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace dcgn::stencil {

// HDF5 as Debian builds it takes one thread at a time: around all calls of it, and of what is declared here. Meanwhile
// HDF5 keeps its error messages to itself.
class Hdf5Turn {
 public:
  Hdf5Turn();
  ~Hdf5Turn();
  Hdf5Turn(const Hdf5Turn&) = delete;
  Hdf5Turn& operator=(const Hdf5Turn&) = delete;

 private:
  std::unique_lock<std::recursive_mutex> lock_;
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

// Closes itself, in a turn of its own.
class Hdf5Handle {
 public:
  Hdf5Handle() = default;
  Hdf5Handle(hid_t id, herr_t (*closer)(hid_t)) : id_(id), close_(closer) {}
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~Hdf5Handle() { close(); }

  operator hid_t() const { return id_; }
  herr_t close() {
    if (id_ < 0) return 0;
    const Hdf5Turn turn;
    return close_(std::exchange(id_, H5I_INVALID_HID));
  }

 private:
  hid_t id_ = H5I_INVALID_HID;
  herr_t (*close_)(hid_t) = nullptr;
};

// Calls on behalf of one file.
class Hdf5 {
 public:
  // `what` they are called by in errors.
  explicit Hdf5(std::string what) : what_(std::move(what)) {}

  // Throws Error(io): what this is, and the innermost of HDF5's reasons.
  void check(std::int64_t status) const {
    if (status < 0) fail(reason());
  }
  [[noreturn]] void fail(const std::string& why) const { throw Error(Code::io, "checkpoint", what_ + ": " + why); }
  Hdf5Handle own(hid_t id, herr_t (*close)(hid_t)) const;

  Hdf5Handle group(hid_t parent, const char* name) const;
  // The part of a data set's space that is these layers, and memory for as many cells.
  Hdf5Handle layers(hid_t set, std::int64_t first, std::int64_t count) const;
  Hdf5Handle memory_of(hid_t selection) const;

  // Attributes: of double, std::vector<double>, std::int64_t or std::string.
  template <class T>
  void put(hid_t object, const char* name, const T& value) const;
  template <class T>
  T get(hid_t object, const char* name) const;
  std::vector<std::string> attribute_names(hid_t object) const;
  std::vector<std::string> link_names(hid_t group) const;

 private:
  static std::string reason();

  std::string what_;
};

}  // namespace dcgn::stencil
