// Messages between processes over TCP, as MPI has them: matched by source and tag, in order between two processes.
//
// A process that first sends to another does so over the connection that the other has made, or makes one itself: so
// nobody waits for anybody to connect, and two that begin at the same time have two. A message whose receive has been
// posted is read straight into its buffer.
#pragma once

#include "bootstrap.hpp"
#include "transport/mpi_calls.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <vector>

namespace dcgn::transport {

// One thread at a time. Throws Error(device) where a connection fails, or the process that is waited for has gone.
class Mesh {
 public:
  static constexpr int any_source = -1;

  explicit Mesh(Bootstrap bootstrap);
  Mesh(const Mesh&) = delete;
  Mesh& operator=(const Mesh&) = delete;

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return static_cast<int>(addresses_.size()); }

  // Requests as MPI has them; a synchronous send is done when it has been matched. To and from others only.
  MpiHandle send(const void* data, std::size_t bytes, int to, int tag, bool synchronous = false);
  MpiHandle receive(void* data, std::size_t capacity, int from, int tag);
  // Called by all; of no bytes it is a barrier.
  MpiHandle all_gather(const void* in, void* out, std::size_t bytes);
  // Once it says true the request is gone. Moves whatever can be moved meanwhile.
  bool test(MpiHandle request, MpiStatus& status);
  void cancel(MpiHandle receive);

 private:
  using Bytes = std::vector<unsigned char>;

  struct Header {  // of what goes over a connection, followed by as many bytes
    std::int32_t tag;
    std::uint32_t number;  // of a synchronous send, which is to be acknowledged; 0: it is none
    std::uint64_t bytes;
  };
  struct Gather {
    unsigned char* out;
    std::size_t bytes;
    Bytes blocks;                         // of this process, the next one, ...
    int have = 1;                         // of them
    bool begun = false, to_send = false;  // of a round
    MpiHandle send = 0, receive = 0;
  };
  enum class Kind { none, send, receive, gather };
  struct Request {
    Kind kind = Kind::none;
    bool done = false;
    MpiStatus status;
    unsigned char* to = nullptr;  // receive
    std::size_t capacity = 0;
    int from = any_source, tag = 0;
    Gather gather{};
  };
  // One that has begun to come.
  struct Message {
    int source;
    Header header;
    std::size_t got = 0;
    MpiHandle receive = 0;  // 0: none so far, and it comes into bytes
    Bytes bytes{};
    bool dropped = false;  // its receive was cancelled

    std::size_t left() const noexcept { return static_cast<std::size_t>(header.bytes) - got; }
  };
  struct Outgoing {
    Header header;
    const unsigned char* data;
    std::size_t sent;  // with the header
    MpiHandle request;
  };
  struct Connection {
    Socket socket;
    int rank = -1;  // before it has said
    std::list<Message>::iterator message;
    bool in_message = false;  // which is not complete
    std::size_t filled = 0;   // of the buffer: the beginning of a header, between two reads
    std::array<unsigned char, 16 << 10> buffer;
    std::deque<Outgoing> queue;
    bool blocked = false;  // until the socket can be written
    bool over = false;     // nothing more comes
  };

  Request& request(MpiHandle handle) { return requests_[static_cast<std::size_t>(handle) - 1]; }
  MpiHandle make(Kind kind);
  void release(MpiHandle handle);
  Connection& connection_to(int rank);
  Connection& add(Socket socket);
  void enqueue(int to, const Outgoing& outgoing);
  void flush(Connection& c);
  void progress();
  void look(Connection& c);
  bool is_connected(int rank) const;
  bool is_gone(int rank);
  void accept();
  bool read(Connection& c);
  bool greet(Connection& c);
  void take(Connection& c);
  void begin(Connection& c, const Header& header);
  void match(Message& message, MpiHandle receive);
  bool add(Connection& c, std::size_t count);
  void finish(std::list<Message>::iterator message);
  bool advance(Gather& gather);
  void watch(int fd, std::uint32_t events, int operation) const;

  int rank_;
  std::uint64_t token_;
  std::vector<Address> addresses_;
  Socket listener_, poll_;
  std::map<int, Connection> connections_;  // [file descriptor]
  std::map<int, Connection*> outs_;        // [rank]: by which is sent to it
  Connection* recent_ = nullptr;           // that something came over last
  unsigned looks_ = 0;
  std::vector<bool> left_;        // [rank]: a connection of it has been closed
  std::deque<Request> requests_;  // [handle - 1]
  std::vector<MpiHandle> free_;   // of them
  std::list<MpiHandle> posted_;   // receives that have not been matched, in order
  std::list<Message> messages_;   // that are coming, or wait for their receive; in order for each source
};

}  // namespace dcgn::transport
