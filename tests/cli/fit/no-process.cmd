# Where there is nothing to learn from, nothing can be said.
mh fit --comm nothing-runs-under-it --time 0.1
