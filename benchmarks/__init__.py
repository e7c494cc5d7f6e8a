"""Speed and memory, as ratios to a floor or to a peer measured in the same run, with the accuracy beside them."""
