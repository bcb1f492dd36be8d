// Trains a small network on random numbers, in plain C++, and records itself: steps, scopes,
// operators, the loss as a counter.
//
//   build/release/bin/cpp_training outputs/cpp_training
//   stepscope report outputs/cpp_training
//   stepscope report outputs/cpp_training --view functions
#include <stepscope/record.h>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>
#include <vector>

namespace {

constexpr size_t kBatch = 64, kInputs = 256, kHidden = 128;
constexpr float kLearningRate = 0.01F;

// Rows times columns, row after row.
using Matrix = std::vector<float>;

struct Batch {
  Matrix inputs;   // kBatch x kInputs
  Matrix targets;  // kBatch
};

Batch make_batch(unsigned seed) {
  STEPSCOPE_SCOPE("make_batch");
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Batch batch{Matrix(kBatch * kInputs), Matrix(kBatch)};
  for (float& value : batch.inputs) value = normal(random);
  for (size_t row = 0; row < kBatch; ++row) {
    batch.targets[row] = std::tanh(batch.inputs[row * kInputs] - batch.inputs[row * kInputs + 1]);
  }
  return batch;
}

// c (rows x columns) = a (rows x inner) times b (inner x columns)
void multiply(const Matrix& a, const Matrix& b, Matrix& c, size_t rows, size_t inner,
              size_t columns) {
  static const stepscope::Label label("multiply", "", STEPSCOPE_OPERATOR);
  const stepscope::Scope scope(label);
  c.assign(rows * columns, 0.0F);
  for (size_t i = 0; i < rows; ++i) {
    for (size_t k = 0; k < inner; ++k) {
      for (size_t j = 0; j < columns; ++j)
        c[i * columns + j] += a[i * inner + k] * b[k * columns + j];
    }
  }
}

Matrix transpose(const Matrix& a, size_t rows, size_t columns) {
  Matrix result(a.size());
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < columns; ++j) result[j * rows + i] = a[i * columns + j];
  }
  return result;
}

class Network {
 public:
  Network() : first_(kInputs * kHidden), second_(kHidden) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0.0F, 0.05F);
    for (float& weight : first_) weight = normal(random);
    for (float& weight : second_) weight = normal(random);
  }

  void forward(const Matrix& inputs) {
    STEPSCOPE_SCOPE("forward");
    multiply(inputs, first_, hidden_, kBatch, kInputs, kHidden);
    for (float& value : hidden_) value = std::tanh(value);
    multiply(hidden_, second_, outputs_, kBatch, kHidden, 1);
  }

  // Of the mean squared error.
  float backward(const Batch& batch) {
    STEPSCOPE_SCOPE("backward");
    float loss = 0.0F;
    Matrix error(kBatch);
    for (size_t row = 0; row < kBatch; ++row) {
      error[row] = outputs_[row] - batch.targets[row];
      loss += error[row] * error[row] / kBatch;
    }
    multiply(transpose(hidden_, kBatch, kHidden), error, second_gradient_, kHidden, kBatch, 1);
    Matrix hidden_error;
    multiply(error, second_, hidden_error, kBatch, 1, kHidden);
    for (size_t i = 0; i < hidden_.size(); ++i) hidden_error[i] *= 1.0F - hidden_[i] * hidden_[i];
    multiply(transpose(batch.inputs, kBatch, kInputs), hidden_error, first_gradient_, kInputs,
             kBatch, kHidden);
    return loss;
  }

  void update() {
    STEPSCOPE_SCOPE("update");
    for (size_t i = 0; i < first_.size(); ++i) first_[i] -= kLearningRate * first_gradient_[i];
    for (size_t i = 0; i < second_.size(); ++i) second_[i] -= kLearningRate * second_gradient_[i];
  }

 private:
  Matrix first_, second_, hidden_, outputs_, first_gradient_, second_gradient_;
};

void train(unsigned steps) {
  stepscope::set_thread_name("trainer");
  const stepscope::Counter loss_counter("loss");
  Network network;
  for (unsigned step = 0; step < steps; ++step) {
    {
      STEPSCOPE_SCOPE("train_step");
      const Batch batch = make_batch(step);
      network.forward(batch.inputs);
      const float loss = network.backward(batch);
      network.update();
      loss_counter.set(loss);
      if (step % 20 == 0) std::printf("step %3u  loss %.4f\n", step, loss);
    }
    stepscope::step(step);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const stepscope::Session session(argc > 1 ? argv[1] : "outputs/cpp_training");
    train(argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 100);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cpp_training: %s\n", error.what());
    return 1;
  }
}
