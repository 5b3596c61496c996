// What a VirtualGpu refers to: its buffers, and how work is given to the parts.
#pragma once

#include "vgpu/src/chunks.hpp"
#include "vgpu/src/crew.hpp"
#include "vgpu/src/loaded_code.hpp"
#include "vgpu/src/local_copies.hpp"
#include "vgpu/src/machine.hpp"
#include "vgpu/src/measured_launches.hpp"
#include "vgpu/src/pages.hpp"
#include "vgpu/src/recorded_work.hpp"

#include <dcgn/virtual_gpu.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dcgn::virtual_gpu {

class SplitLaunch;

struct Buffer {
  std::size_t bytes = 0;  // as they were asked for
  PageMap pages;
  std::unique_ptr<Range> range;
  Placement::Kind kind = Placement::Kind::chunked;
  std::vector<std::unique_ptr<Range>> copies;  // of a replicated one: for parts 1, 2, ...
  bool single = false;                         // reached by other ways than arguments: no copies are made by themselves
  LocalCopies local{};
  ReducedCopies reduced{};
  bool placed = false;  // where its user has said: place_all() leaves it there
};

class Gpu : public std::enable_shared_from_this<Gpu> {
 public:
  // A grid of one piece of a launch: blocks `piece` of it, on `part`.
  using LaunchPiece = std::function<void(int part, const Chunk& piece, dcgn::Stream& stream)>;

  // `asleep`: as Machine is, until wake().
  Gpu(const std::vector<Device>& devices, const Options& its_options, bool asleep = false);
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;
  ~Gpu();

  Machine& machine() { return *machine_; }
  const Machine& machine() const { return *machine_; }
  int parts() const { return machine_->parts(); }
  const Device& device(int part) const { return machine_->devices()[static_cast<std::size_t>(part)]; }
  bool emulated() const { return device(0).kind() == DeviceKind::emulated; }
  Stream& own_stream();

  // Streams tell that they are there, so that place() and free() can wait for their work.
  void enlist(Parts& parts) { streams_.push_back(&parts); }
  void strike(Parts& parts);
  void synchronize_all();
  bool is_idle() const;
  // Its user has waited for a stream.
  void note_wait() {
    if (measured_) measured_->note_wait();
  }

  void* allocate(std::size_t bytes, const Placement& placement);
  // allocate() and place() as a user's calls: with Schedule::measured, chunked buffers begin on part 0, and where its
  // user has placed a buffer it stays.
  void* allocate_placed(std::size_t bytes, const Placement& placement);
  PlacementCost place_for_user(void* memory, const Placement& placement);
  // Of a buffer that kernels reach by other ways than their arguments, no copies are made.
  void keep_single(const void* memory);
  void free(void* memory);
  // The same, of a buffer that no work uses any more.
  void free_unused(void* memory);
  PlacementCost place(void* memory, const Placement& placement);
  const Buffer& buffer_at(const char* operation, const void* memory) const;  // that begins there
  // The one that has this address, and where it begins; null for other memory.
  const Buffer* buffer_with(const void* address, const std::byte*& begin) const;
  std::vector<std::size_t> bytes_on_parts(const void* memory) const;
  const void* on_part(int part, const void* address) const;
  bool has_replicated() const { return replicated_ != 0; }

  void copy(Stream& stream, void* to, const void* from, std::size_t bytes);
  void fill(Stream& stream, void* memory, unsigned char value, std::size_t bytes);

  Module load(const std::string& name, const std::string& text, const AssemblerOptions& options = {},
              std::unique_ptr<Binary> own = nullptr);
  void launch(Stream& stream, const Kernel& kernel, const Launch& launch, const std::vector<Argument>& arguments);
  void launch(Stream& stream, const Launch& launch, const ImageOfPart& image);
  // gpu_graph.cpp
  Graph record(const std::function<void(Stream&)>& work);
  void launch(Stream& stream, const Graph& graph);
  void refuse_recording(const Parts& streams, const char* call) const;
  std::vector<Placement> sample(const std::vector<void*>& memory, std::uint64_t blocks, const Kernel& kernel,
                                const Launch& launch, const std::vector<Argument>& arguments);

  // Notes what a launch may write, and has copies made of what it only reads, on the streams that it will be given.
  // Returns the words of its arguments for which each part gets the address of its own copy; none unless `split`.
  std::vector<LocalWord> look_at_memory(Parts& streams, const Launch& launch, const KernelInfo& kernel,
                                        const ptx::MemoryUse& memory, const std::vector<Argument>& arguments,
                                        bool split);

  // gpu_adopted.cpp: for a program that has streams, launches and copies of its own.
  // A stream whose part 0 is the program's.
  std::unique_ptr<Stream> adopt(void* native);
  // As launch(), beside what the program gives its stream itself.
  void launch_beside(Stream& stream, const Kernel& kernel, const Launch& launch,
                     const std::vector<Argument>& arguments);
  // gpu_check.cpp: launch_beside(), and then `whole`, the same launch on part 0, on what was there before; all buffers
  // and other memory are as that leaves them. Where the first had left other bytes; in no order of streams, all of
  // which are waited for. Takes memory for two more copies of all buffers; nothing where there is not as much: then the
  // launch was made split alone.
  struct OtherMemory {
    std::byte* begin;
    std::size_t bytes;
  };
  struct Difference {
    const std::byte* begin;  // of a buffer, or other memory
    std::size_t bytes;
    std::size_t first = 0, count = 0;  // bytes that differ
  };
  std::optional<std::vector<Difference>> check(Stream& stream, const Kernel& kernel, const Launch& launch,
                                               const std::vector<Argument>& arguments,
                                               const std::vector<OtherMemory>& others,
                                               const std::function<void()>& whole);
  // All that a launch that stays whole needs besides the launch itself, which is the caller's, by whole_function().
  void prepare_whole(Stream& stream, const Kernel& kernel, const Launch& launch,
                     const std::vector<Argument>& arguments);
  const LoadedCode::Traits& traits(const Kernel& kernel) const;
  // Why such a launch must not be split, by the memory that its arguments lead to and the room that a block takes;
  // empty where nothing stands against it. `alone`: whether part 0 alone reaches an address of which the driver does
  // not say that all parts do, or which it does not know.
  std::string why_whole(const Kernel& kernel, const Launch& launch, const std::vector<Argument>& arguments,
                        const std::function<bool(std::uintptr_t address, bool known)>& alone) const;
  // Of a module that is another's, as LoadedCode has it. No work is under way.
  bool is_loaded(const Module& module) const;
  void load_split(const Module& module);
  void refresh_constants(const Module& module);
  // All parts get to be used, and to reach what there is.
  void wake();
  bool awake() const { return machine_->awake(); }
  // As free_unused(), but its memory is kept, an eighth of a device's at most, for the next buffer of its size and
  // placement: to make that anew costs far more than the driver's own allocations do.
  void retire(void* memory);
  std::size_t spare_bytes() const { return spare_bytes_; }
  // All buffers, of which no work is under way. Those that find no room for it stay where they are. Whether there were
  // none such.
  bool place_all(const Placement& placement);
  std::size_t buffer_bytes() const { return buffer_bytes_; }
  // The CUfunction of part 0 that has the kernel's own parameters and grid.
  void* whole_function(const Kernel& kernel) const;
  // LoadedCode::has_variables_alone()
  static bool has_variables_alone(const Module& module);
  // Where a variable is: one place where it is shared, else several, part 0's first. Empty where there is none.
  std::vector<LoadedCode::PlaceOnPart> variable_at(const Module& module, const std::string& variable) const;
  // The same copy or fill, in the stream's order, beside what the program gives it itself.
  void copy_beside(Stream& stream, void* to, const void* from, std::size_t bytes);
  void fill_beside(Stream& stream, void* memory, unsigned char value, std::size_t bytes);
  // Copies these bytes of what lies at the first place, which the stream was given the writing of, to the others.
  void repeat(Stream& stream, const std::vector<LoadedCode::PlaceOnPart>& places, std::size_t offset,
              std::size_t bytes);
  // Behind calls of repeat(); and until all is there that they were for, whatever else the streams do.
  void note_constants(const Stream& stream);
  void wait_for_constants();
  // By other means than this, in the stream's order: what was copied of it is no more what it holds.
  void note_written(const void* memory, const Stream& stream);
  void note_all_written(const Stream& stream) { all_written(stream.parts_.get()); }
  // Behind what the stream was given.
  void mark(Stream& stream, Marker& marker);
  // Before the program destroys a stream that was adopted.
  void end(Stream& stream);
  // Of bytes copied from one place to the other, those that go from one part to another; memory that is no buffer is
  // not looked at.
  std::size_t bytes_between_parts(const void* to, const void* from, std::size_t bytes) const;

  Options options;
  Statistics statistics;

 private:
  // A range of bytes that lie on one part, for a copy.
  struct Stretch {
    int part = 0;
    std::size_t bytes = 0;
    bool in_buffer = false, replicated = false;
  };
  Stretch stretch_at(const char* operation, const void* address, std::size_t bytes) const;
  std::vector<std::unique_ptr<Range>> make_copies(const PageMap& pages);
  // gpu_copies.cpp: copies that are made by themselves.
  Buffer* buffer_with(const void* address);
  // The one that an argument means: whose address, or the one behind its last byte, it is.
  const Buffer* buffer_reached_from(std::uintptr_t address) const;
  Buffer* buffer_reached_from(std::uintptr_t address) {
    return const_cast<Buffer*>(std::as_const(*this).buffer_reached_from(address));
  }
  // Whether it lies in a buffer's guards: Range::is_guarded().
  bool is_guard(std::uintptr_t address) const;
  // Those that a kernel may write which is given this address, and adds or subtracts no more than a page.
  std::vector<Buffer*> buffers_near(std::uintptr_t address);
  // What was copied of all buffers is no more what they hold.
  void all_written(const Parts* by);
  bool make_local(Parts& streams, Buffer& buffer, bool at_once);
  bool reserve_local(Buffer& buffer);
  RangesOfParts reserve_copies(const Buffer& buffer);
  bool fits_local(std::size_t bytes) const;
  // gpu_reductions.cpp: what a launch only reduces into. Adds the words of its arguments for which some parts get the
  // address of a copy, which join_reduced() adds to the buffer behind the launch.
  void reduce_apart(Parts& streams, const KernelInfo& kernel, const ptx::MemoryUse& memory,
                    const std::vector<Argument>& arguments, std::vector<LocalWord>& words);
  bool use_reduced(Parts& streams, Buffer& buffer, const ptx::Reduction& reduction);
  void join_reduced(Parts& streams, const std::vector<LocalWord>& words);
  Binary& joining_code(const ptx::Reduction& reduction);
  void drop_reduced(Buffer& buffer);
  // While all parts are idle; and of all buffers, waiting for the parts.
  void drop_local(Buffer& buffer);
  void drop_local(bool current_too);
  // Runs all blocks of a launch, a chunk on each part or as they are stolen. `last_on_first`: the block that ends last
  // is to be one of part 0's, where they are not stolen.
  void run_chunks(Parts& streams, std::uint64_t blocks, std::uint64_t step, const LaunchPiece& launch,
                  bool last_on_first = false);
  void steal(Parts& streams, std::vector<Chunk> chunks, const LaunchPiece& launch);
  // All buffers as they are.
  struct Saved {
    void* buffer;
    std::size_t bytes;
    std::unique_ptr<Range> content;
  };
  std::vector<Saved> save();
  void restore(const std::vector<Saved>& saved);
  // How often each part touches each page of a buffer, when it runs these of its blocks.
  std::vector<unsigned long long> count_touches(void* memory, const std::vector<std::vector<Chunk>>& blocks,
                                                Binary& counting, std::size_t kernel, const SplitLaunch& split);
  struct Checked {
    std::uint64_t blocks;
    bool whole;
  };
  void launch(Parts& streams, const Kernel& kernel, const Launch& launch, const std::vector<Argument>& arguments,
              const Checked& checked);
  // Once Schedule::measured was asked for: has what it may move on part 0.
  MeasuredLaunches& measured();
  // Whether launches are measured now; else, that ends.
  bool measures();
  // A stream's own streams. Throws Error(configuration) where it is another virtual GPU's.
  Parts& parts_of(const char* operation, const Stream& stream) const;
  void copy(Parts& streams, void* to, const void* from, std::size_t bytes);
  void fill(Parts& streams, void* memory, unsigned char value, std::size_t bytes);
  bool is_recording(const Parts& streams) const { return recorded_ && recorded_of_ == &streams; }
  void give(Parts& streams, RecordedWork& work, bool split);
  bool is_valid(const RecordedWork::Form& form) const;
  void capture(Parts& streams, RecordedWork::Form& form, const std::function<void()>& make_calls);
  Checked check_launch(const Kernel& kernel, const Launch& launch, const std::vector<Argument>& arguments) const;
  void check_arguments(const KernelInfo& kernel, const std::vector<Argument>& arguments) const;
  std::uint64_t step_for(const Launch& launch, const std::vector<Argument>& arguments) const;

  std::unique_ptr<Machine> machine_;
  bool native_atomics_ = true;
  std::vector<Parts*> streams_;
  std::vector<std::unique_ptr<Marker>> constants_written_;  // by note_constants()
  std::map<std::uintptr_t, Buffer> buffers_;
  std::size_t replicated_ = 0;        // buffers
  std::uint64_t age_ = 0;             // changes with each buffer, or copies of one, that is gone or moved
  RecordedWork* recorded_ = nullptr;  // by record(), what recorded_of_ is given
  const Parts* recorded_of_ = nullptr;
  std::size_t buffer_bytes_ = 0;
  std::multimap<std::size_t, Buffer> spare_;  // by pages; of retire()
  std::size_t spare_bytes_ = 0;
  std::unique_ptr<Range> spare(const PageMap& pages, Placement::Kind kind);
  void drop_spare();
  std::size_t local_bytes_ = 0;  // that copies made by themselves take of each part's memory
  std::map<ptx::Reduction, std::unique_ptr<Binary>> joining_code_;
  std::unique_ptr<Stream> own_stream_;
  std::unique_ptr<MeasuredLaunches> measured_;                      // since Schedule::measured was asked for
  std::unique_ptr<Crew> crew_;                                      // since a launch gained by it
  std::vector<std::vector<std::unique_ptr<Marker>>> idle_markers_;  // by part, for stealing
};

}  // namespace dcgn::virtual_gpu
