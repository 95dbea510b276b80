# A choice of processes and one of users do not go together.
mh fit --comm a --user b
