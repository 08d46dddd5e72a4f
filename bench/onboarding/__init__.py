"""From a loan history with planted faults to a live key and a live score, with a clock running."""
