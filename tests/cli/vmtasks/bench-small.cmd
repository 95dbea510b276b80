# Less than a mebibyte is refused.
mh vmtasks bench --size 4K
