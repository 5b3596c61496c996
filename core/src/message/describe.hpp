// Messages and failures in words.
#pragma once

#include <dcgn/message/endpoint.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dcgn::message {

const char* to_string(Call call);

// "tag above 65535".
const char* to_string(Reason why);
// Reason::none for any other text.
Reason reason_of(std::string_view text);

// " in communicator 2", counted as its ranks agreed; nothing for the world's. Ranks are the world's in all reports.
std::string describe_communicator(const Envelope& envelope);

// "all_reduce, number 3": which collective a message of one belongs to, of those of its communicator. Its tag has the
// number modulo 2048, and that is what is said where `number`, the whole one, is not known.
std::string describe_collective(const Envelope& envelope, std::optional<std::uint32_t> number);

// "message of 16 bytes from rank 2 with tag 7", or "rank 2's part in all_reduce, number 3, 16 bytes".
std::string describe_message(const Envelope& envelope, std::optional<std::uint32_t> number = {});

// What was wrong with a call: names the bad value and what was expected.
std::string describe(const Failure& failure);

}  // namespace dcgn::message
