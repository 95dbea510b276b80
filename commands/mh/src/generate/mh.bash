
# Takes the place of the function above. Offers options behind a "-" alone: elsewhere bash completes files if nothing is
# offered. "--name=value" is three words for bash.
_mh_words() {
    local word="$2" before="$3" reply
    local -a shown=()
    if [[ "${COMP_WORDS[COMP_CWORD]}" == "=" ]]; then
        word=""
    elif [[ "$before" == "=" ]]; then
        before="${COMP_WORDS[COMP_CWORD - 2]}"
    fi
    _mh "$1" "$word" "$before"
    if [[ "$word" == -* ]]; then
        return
    fi
    for reply in "${COMPREPLY[@]}"; do
        case "$reply" in
            [-[\<]*) ;;
            *) shown+=("$reply") ;;
        esac
    done
    COMPREPLY=("${shown[@]}")
}

complete -F _mh_words -o bashdefault -o default mh
