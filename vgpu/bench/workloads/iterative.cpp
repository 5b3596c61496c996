// Workloads whose host looks at what a launch found before it gives the next: breadth-first search as Rodinia has it,
// k-means of many features, survey propagation.
#include "vgpu/bench/workloads/common.hpp"

namespace dcgn::workloads {

namespace {

class BreadthFirstMasks final : public Program {
 public:
  BreadthFirstMasks(VirtualGpu& gpu, int scale)
      : Program(gpu, "breadth_first_masks"),
        nodes_(scaled(scale, std::size_t{1} << 18, std::size_t{1} << 12, std::size_t{1} << 20)),
        visit_(kernel("bfs_visit")),
        advance_(kernel("bfs_advance")) {
    first_ = allocate_input<int>(nodes_ + 1);
    edges_ = allocate_input<int>(nodes_ * degree);
    level_ = allocate<int>(nodes_);
    for (unsigned char** mask : {&frontier_, &marked_, &visited_}) *mask = allocate<unsigned char>(nodes_);
    more_ = allocate<int>(1);
    std::vector<int> first(nodes_ + 1), edges(nodes_ * degree);
    for (std::size_t node = 0; node <= nodes_; ++node) first[node] = static_cast<int>(node * degree);
    Numbers numbers(21);
    for (int& edge : edges) edge = static_cast<int>(numbers.below(static_cast<std::uint32_t>(nodes_)));
    upload(first_, first);
    upload(edges_, edges);
  }
  void reset() override {
    gpu().fill(level_, 0xff, nodes_ * sizeof(int));
    const int root = 0;
    gpu().copy(level_, &root, sizeof root);
    gpu().fill(marked_, 0, nodes_);
    for (unsigned char* const mask : {frontier_, visited_}) {
      std::vector<unsigned char> content(nodes_);
      content[0] = 1;
      upload(mask, content);
    }
  }
  void run(virtual_gpu::Stream& stream) override {
    const Launch each{.grid = blocks_for(nodes_, threads), .block = threads};
    for (int more = 1; more != 0;) {
      gpu().fill(stream, more_, 0, sizeof(int));
      launch(stream, visit_, each, first_, edges_, static_cast<int>(nodes_), frontier_, marked_, visited_, level_);
      launch(stream, advance_, each, static_cast<int>(nodes_), frontier_, marked_, visited_, more_);
      download(stream, &more, more_, 1);
    }
  }
  std::vector<Result> results() const override { return {result("level", level_, nodes_)}; }

 private:
  static constexpr std::size_t degree = 6;
  std::size_t nodes_;
  virtual_gpu::Kernel visit_, advance_;
  int *first_, *edges_, *level_, *more_;
  unsigned char *frontier_ = nullptr, *marked_ = nullptr, *visited_ = nullptr;
};

class KMeansFeatures final : public Program {
 public:
  KMeansFeatures(VirtualGpu& gpu, int scale)
      : Program(gpu, "k_means_features"),
        objects_(scaled(scale, std::size_t{1} << 17, std::size_t{1} << 12, std::size_t{494020})),
        transpose_(kernel("transpose_features")),
        nearest_centre_(kernel("nearest_centre")) {
    by_object_ = allocate_input<float>(objects_ * features);
    by_feature_ = allocate<float>(objects_ * features);
    nearest_ = allocate<int>(objects_);
    found_ = allocate<float>(centres * features);
    content_ = random_floats(objects_ * features, -1, 1, 22);
    upload(by_object_, content_);
  }
  void reset() override {
    gpu().fill(nearest_, 0xff, objects_ * sizeof(int));
    gpu().fill(found_, 0, centres * features * sizeof(float));
  }
  // The first centres are objects; the host makes the next ones of the objects that are nearest to each.
  void run(virtual_gpu::Stream& stream) override {
    const Launch each{.grid = blocks_for(objects_, threads), .block = threads};
    const int n = static_cast<int>(objects_);
    std::vector<float> now(content_.begin(), content_.begin() + centres * features);
    std::vector<int> nearest(objects_);
    launch(stream, transpose_, each, by_object_, by_feature_, n, features);
    for (int iteration = 0; iteration < iterations; ++iteration) {
      write("centres", now);
      launch(stream, nearest_centre_, each, by_feature_, n, features, centres, nearest_);
      download(stream, nearest.data(), nearest_, objects_);
      move_centres(nearest, now);
    }
    gpu().copy(found_, now.data(), now.size() * sizeof(float));
  }
  std::vector<Result> results() const override {
    Result nearest = result("nearest", nearest_, objects_);
    Result found = result("centres", found_, centres * features);
    nearest.on_host = found.on_host = true;
    return {nearest, found};
  }

 private:
  std::vector<int> sizes() const override { return {features, centres, iterations}; }

  void move_centres(const std::vector<int>& nearest, std::vector<float>& now) const {
    std::vector<float> sums(now.size());
    std::vector<int> counts(centres);
    for (std::size_t object = 0; object < objects_; ++object) {
      const auto which = static_cast<std::size_t>(nearest[object]);
      ++counts[which];
      for (std::size_t f = 0; f < features; ++f) sums[which * features + f] += content_[object * features + f];
    }
    for (std::size_t i = 0; i < now.size(); ++i)
      if (counts[i / features] > 0) now[i] = sums[i] / static_cast<float>(counts[i / features]);
  }

  static constexpr int features = 34, centres = 5, iterations = 3;
  std::size_t objects_;
  virtual_gpu::Kernel transpose_, nearest_centre_;
  float *by_object_, *by_feature_, *found_;
  int* nearest_;
  std::vector<float> content_;
};

// Sweeps until surveys stand still, after which variables that lean to one side are settled so; some rounds of that.
class SurveyPropagation final : public Program {
 public:
  SurveyPropagation(VirtualGpu& gpu, int scale)
      : Program(gpu, "survey_propagation"),
        clauses_(scaled(scale, std::size_t{42'000}, std::size_t{1050}, std::size_t{100'000})),
        variables_(scaled(scale, std::size_t{10'000}, std::size_t{250}, std::size_t{300'000})),
        update_(kernel("update_surveys")),
        settle_(kernel("settle")),
        satisfy_(kernel("satisfy")) {
    literals_ = allocate_input<int>(3 * clauses_);
    first_ = allocate_input<int>(variables_ + 1);
    edges_ = allocate_input<int>(3 * clauses_);
    settled_ = allocate<int>(variables_);
    satisfied_ = allocate<int>(clauses_);
    for (float*& one : surveys_) one = allocate<float>(3 * clauses_);
    biases_ = allocate<float>(variables_);
    change_ = allocate<unsigned>(1);
    upload_formula();
  }
  void reset() override {
    gpu().fill(settled_, 0xff, variables_ * sizeof(int));
    gpu().fill(satisfied_, 0, clauses_ * sizeof(int));
    gpu().fill(biases_, 0, variables_ * sizeof(float));
    for (float* const one : surveys_) upload(one, random_floats(3 * clauses_, 0, 1, 24));
  }
  void run(virtual_gpu::Stream& stream) override {
    const Launch by_clause{.grid = blocks_for(clauses_, threads), .block = threads},
        by_variable{.grid = blocks_for(variables_, threads), .block = threads};
    const int clauses = static_cast<int>(clauses_), variables = static_cast<int>(variables_);
    float *from = surveys_[0], *to = surveys_[1];
    for (int round = 0; round < rounds; ++round) {
      unsigned change = 1;
      for (int sweep = 0; sweep < most_sweeps && change != 0; ++sweep) {
        gpu().fill(stream, change_, 0, sizeof(unsigned));
        launch(stream, update_, by_clause, literals_, first_, edges_, settled_, satisfied_, from, to, clauses, change_);
        download(stream, &change, change_, 1);
        std::swap(from, to);
      }
      launch(stream, settle_, by_variable, first_, edges_, literals_, from, settled_, biases_, variables, 0.3F);
      launch(stream, satisfy_, by_clause, literals_, settled_, satisfied_, clauses);
    }
  }
  std::vector<Result> results() const override {
    return {result("biases", biases_, variables_), result("settled", settled_, variables_),
            result("satisfied", satisfied_, clauses_)};
  }

 private:
  static constexpr int rounds = 3, most_sweeps = 20;
  std::vector<int> sizes() const override { return {rounds, most_sweeps}; }

  // Three variables that differ in each clause, each negated or not; and of each variable its edges.
  void upload_formula() {
    Numbers numbers(23);
    std::vector<int> literals, first{0}, edges;
    std::vector<std::vector<int>> edges_of(variables_);
    for (std::size_t clause = 0; clause < clauses_; ++clause)
      for (std::size_t k = 0; k < 3;) {
        const int literal = static_cast<int>(numbers.below(static_cast<std::uint32_t>(2 * variables_)));
        const auto begin = literals.begin() + static_cast<std::ptrdiff_t>(3 * clause);
        if (std::any_of(begin, literals.end(), [literal](int one) { return one / 2 == literal / 2; })) continue;
        edges_of[static_cast<std::size_t>(literal) / 2].push_back(static_cast<int>(3 * clause + k++));
        literals.push_back(literal);
      }
    for (const std::vector<int>& its : edges_of) {
      edges.insert(edges.end(), its.begin(), its.end());
      first.push_back(static_cast<int>(edges.size()));
    }
    upload(literals_, literals);
    upload(first_, first);
    upload(edges_, edges);
  }

  std::size_t clauses_, variables_;
  virtual_gpu::Kernel update_, settle_, satisfy_;
  int *literals_, *first_, *edges_, *settled_, *satisfied_;
  float *surveys_[2], *biases_;
  unsigned* change_;
};

}  // namespace

std::vector<WorkloadKind> iterative_workloads() {
  return {{"breadth-first-masks", "BFS", make_workload<BreadthFirstMasks>, 0, 0},
          {"k-means-features", "KMN", make_workload<KMeansFeatures>, 0, 0},
          {"survey-propagation", "SP", make_workload<SurveyPropagation>, 0, 0}};
}

}  // namespace dcgn::workloads
