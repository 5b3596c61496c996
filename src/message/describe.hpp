// Messages and failures in words.
#pragma once

#include <dcgn/message/endpoint.hpp>

#include <string>

namespace dcgn::message {

const char* to_string(Call call);

// " in communicator 2", counted as its ranks agreed; nothing for the world's. Ranks are the world's in all reports.
std::string describe_communicator(const Envelope& envelope);

// "all_reduce, number 3": which collective a message of one belongs to, of those of its communicator.
std::string describe_collective(const Envelope& envelope);

// "message of 16 bytes from rank 2 with tag 7".
std::string describe_message(const Envelope& envelope);

// What was wrong with a call: names the bad value and what was expected.
std::string describe(const Failure& failure);

}  // namespace dcgn::message
