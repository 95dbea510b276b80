# A call that does not exist is refused.
mh timers -c sleepy
