# Settings that cannot be understood are told with file and line, whatever the command; MH_CONFIG= reads none.
printf '# mine\n[crew]\npriorty = "low"\n' > typing.toml
MH_CONFIG=typing.toml mh crew; echo $?
printf '[crew]\npriority = "urgent"\n' > class.toml
MH_CONFIG=class.toml mh tamp -c class.toml; echo $?
MH_CONFIG=absent.toml mh crew; echo $?
mkdir -p .config/manyhands && cp typing.toml .config/manyhands/config.toml
mh tamp -c class.toml 2>&1 | sed "s|'/.*/.config|'HOME/.config|"
MH_CONFIG= mh tamp -c class.toml | wc -c | tr -d ' '
