# Nothing at all would be every group.
mh fit --cgroup ""
