#include "vgpu/src/pages.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <string>

namespace dcgn::virtual_gpu {

namespace {

// As split_evenly() has it for blocks: no part has more than one page more than another.
int chunk_owner(std::size_t page, std::size_t pages, int parts) {
  return static_cast<int>(page * static_cast<std::size_t>(parts) / pages);
}

[[noreturn]] void refuse(const std::string& why) { throw Error(Code::configuration, "place", why); }

void check_part(int part, int parts) {
  if (part < 0 || part >= parts)
    refuse("part " + std::to_string(part) + " does not exist, expected 0.." + std::to_string(parts - 1));
}

std::vector<int> owners_of(const Placement& placement, std::size_t pages, int parts) {
  std::vector<int> owners(pages, 0);
  switch (placement.kind) {
    case Placement::Kind::chunked:
      for (std::size_t page = 0; page < pages; ++page) owners[page] = chunk_owner(page, pages, parts);
      break;
    case Placement::Kind::interleaved:
      if (placement.pages == 0) refuse("pages are interleaved 0 at a time, expected at least 1");
      for (std::size_t page = 0; page < pages; ++page)
        owners[page] = static_cast<int>(page / placement.pages % static_cast<std::size_t>(parts));
      break;
    case Placement::Kind::owner:
      check_part(placement.part, parts);
      std::fill(owners.begin(), owners.end(), placement.part);
      break;
    case Placement::Kind::replicated: break;
    case Placement::Kind::listed:
      if (placement.parts.size() != pages)
        refuse("a list of " + std::to_string(placement.parts.size()) + " parts, expected one for each of " +
               std::to_string(pages) + " pages");
      for (const int part : placement.parts) check_part(part, parts);
      owners = placement.parts;
      break;
  }
  return owners;
}

}  // namespace

PageMap::PageMap(const Placement& placement, std::size_t bytes, std::size_t page_bytes, int parts)
    : page_bytes_(page_bytes), owners_(owners_of(placement, (bytes + page_bytes - 1) / page_bytes, parts)) {
  for (std::size_t page = 0; page < owners_.size(); ++page) {
    if (extents_.empty() || extents_.back().part != owners_[page])
      extents_.push_back({page * page_bytes_, 0, owners_[page]});
    extents_.back().bytes += page_bytes_;
  }
}

const Extent& PageMap::extent_of(std::size_t offset) const {
  const auto after = std::upper_bound(extents_.begin(), extents_.end(), offset,
                                      [](std::size_t at, const Extent& extent) { return at < extent.offset; });
  return *std::prev(after);
}

std::vector<std::size_t> PageMap::bytes_of_parts(int parts) const {
  std::vector<std::size_t> bytes(static_cast<std::size_t>(parts));
  for (const Extent& extent : extents_) bytes[static_cast<std::size_t>(extent.part)] += extent.bytes;
  return bytes;
}

std::size_t bytes_moved(const PageMap& from, const PageMap& to) {
  std::size_t pages = 0;
  for (std::size_t page = 0; page < from.pages(); ++page) pages += from.owner(page) != to.owner(page);
  return pages * from.page_bytes();
}

std::vector<int> owners_by_touches(const std::vector<unsigned long long>& touches, int parts) {
  const std::size_t each = static_cast<std::size_t>(parts), pages = touches.size() / each;
  std::vector<int> owners(pages, -1);
  std::vector<std::size_t> have(each), touched;
  for (std::size_t page = 0; page < pages; ++page) {
    const unsigned long long* mine = &touches[page * each];
    std::size_t best = 0;
    for (std::size_t part = 1; part < each; ++part)
      if (mine[part] > mine[best] || (mine[part] == mine[best] && have[part] < have[best])) best = part;
    if (mine[best] == 0) continue;
    owners[page] = static_cast<int>(best);
    ++have[best];
    touched.push_back(page);
  }
  if (touched.empty()) return owners_of(Placement::chunked(), pages, parts);
  for (std::size_t page = 0, next = 0; page < pages; ++page) {
    while (next < touched.size() && touched[next] < page) ++next;
    const std::size_t after = touched[std::min(next, touched.size() - 1)], before = touched[next == 0 ? 0 : next - 1];
    const std::size_t to_before = page > before ? page - before : before - page;
    const std::size_t to_after = page > after ? page - after : after - page;
    owners[page] = owners[to_after < to_before ? after : before];
  }
  return owners;
}

}  // namespace dcgn::virtual_gpu
