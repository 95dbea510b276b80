# An unknown kind is refused with the list.
mh vmtasks bench --kind tmpfs
