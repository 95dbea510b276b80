# What crew run would do, by class; the settings file fills in what is not given.
export MH_CREW_DIR="$PWD/crew" MH_CONFIG="$PWD/mine.toml"
printf '[crew]\npriority = "idle"\nweight = 50\n' > mine.toml
mh crew run -j 1 --explain make -j8 | sed "s|'/.*/mine.toml'|'mine.toml'|"
mh crew run -j 1 --priority low --weight 200 --what "a build" --explain -- make -j8 | grep -E 'plan|class|scheduler'
