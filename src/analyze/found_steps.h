// Training steps of a trace that has no step scopes, found from the loop of optimizer steps on the
// training thread (training_thread.h). What counts is the order in time of D (a DataLoader's
// __next__), B (a backward pass) and O (Optimizer.step):
//
//   D B O D B O            two steps, each from its D to the next D
//   D B D B O              one: gradients are accumulated
//   D B O B O D …          one: two optimizers, as a GAN has them
//   D B O D D D D B O      the D's in the middle are a validation, and in no step
//   B O B O                no DataLoader: a step ends with its last O, and where the next begins
//
// In detail:
// - A step begins at the D that leads to its first B or O. Where all steps fetch several times
//   before they compute (two loaders side by side), at the first of these: their number is the
//   smallest that any B or O has before it. D's with no operator between them are one.
// - It ends where the next D begins, whatever that D is for: what a loop does after O (logging,
//   .item()) is part of the step. The last one ends at its last O where no D follows.
// - Without a DataLoader, or with one for less than every eighth O, an O with the name of one
//   before it in the step begins a new step, where the O before ended.
// - A validation in the middle of an accumulation begins the step anew.
// - O's with a closure hold their own B.
// - B is torch's backward call where one was recorded, else the first backward node.
// - The first step of a loop without a DataLoader begins with the first zero_grad, or with the
//   operator that made the oldest node of its B (by sequence number); where these were not
//   recorded, with the first module call, else the first operator, of the thread.
#pragma once

#include <vector>

#include "analyze/intervals.h"
#include "analyze/training_thread.h"
#include "trace/trace.h"

namespace stepscope {

// By time, apart from each other. Empty where no optimizer ran.
std::vector<Interval> find_steps(const Trace& trace, const TrainingThread& thread);

}  // namespace stepscope
