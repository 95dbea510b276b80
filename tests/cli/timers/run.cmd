# The slack stays over execve, and what the program starts inherits it.
mh timers run --slack 1234ns -- sh -c "cat /proc/self/timerslack_ns; cat /proc/\$\$/timerslack_ns"
