_mh() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="mh"
                ;;
            mh,bakeoff)
                cmd="mh__subcmd__bakeoff"
                ;;
            mh,ceiling)
                cmd="mh__subcmd__ceiling"
                ;;
            mh,cp)
                cmd="mh__subcmd__cp"
                ;;
            mh,crew)
                cmd="mh__subcmd__crew"
                ;;
            mh,db)
                cmd="mh__subcmd__db"
                ;;
            mh,fit)
                cmd="mh__subcmd__fit"
                ;;
            mh,innodb)
                cmd="mh__subcmd__innodb"
                ;;
            mh,links)
                cmd="mh__subcmd__links"
                ;;
            mh,load)
                cmd="mh__subcmd__load"
                ;;
            mh,locks)
                cmd="mh__subcmd__locks"
                ;;
            mh,mtwrite)
                cmd="mh__subcmd__mtwrite"
                ;;
            mh,mv)
                cmd="mh__subcmd__mv"
                ;;
            mh,numa)
                cmd="mh__subcmd__numa"
                ;;
            mh,pstime)
                cmd="mh__subcmd__pstime"
                ;;
            mh,rm)
                cmd="mh__subcmd__rm"
                ;;
            mh,sum)
                cmd="mh__subcmd__sum"
                ;;
            mh,sysstat)
                cmd="mh__subcmd__sysstat"
                ;;
            mh,systime)
                cmd="mh__subcmd__systime"
                ;;
            mh,tamp)
                cmd="mh__subcmd__tamp"
                ;;
            mh,tar)
                cmd="mh__subcmd__tar"
                ;;
            mh,timers)
                cmd="mh__subcmd__timers"
                ;;
            mh,tour)
                cmd="mh__subcmd__tour"
                ;;
            mh,vmtasks)
                cmd="mh__subcmd__vmtasks"
                ;;
            mh,xjobs)
                cmd="mh__subcmd__xjobs"
                ;;
            mh__subcmd__crew,pause)
                cmd="mh__subcmd__crew__subcmd__pause"
                ;;
            mh__subcmd__crew,resume)
                cmd="mh__subcmd__crew__subcmd__resume"
                ;;
            mh__subcmd__crew,run)
                cmd="mh__subcmd__crew__subcmd__run"
                ;;
            mh__subcmd__crew,set)
                cmd="mh__subcmd__crew__subcmd__set"
                ;;
            mh__subcmd__crew,wait)
                cmd="mh__subcmd__crew__subcmd__wait"
                ;;
            mh__subcmd__db,dump)
                cmd="mh__subcmd__db__subcmd__dump"
                ;;
            mh__subcmd__db,index)
                cmd="mh__subcmd__db__subcmd__index"
                ;;
            mh__subcmd__db,load)
                cmd="mh__subcmd__db__subcmd__load"
                ;;
            mh__subcmd__db,restore)
                cmd="mh__subcmd__db__subcmd__restore"
                ;;
            mh__subcmd__db,verify)
                cmd="mh__subcmd__db__subcmd__verify"
                ;;
            mh__subcmd__numa,check)
                cmd="mh__subcmd__numa__subcmd__check"
                ;;
            mh__subcmd__numa,run)
                cmd="mh__subcmd__numa__subcmd__run"
                ;;
            mh__subcmd__sysstat,enroll)
                cmd="mh__subcmd__sysstat__subcmd__enroll"
                ;;
            mh__subcmd__sysstat,key)
                cmd="mh__subcmd__sysstat__subcmd__key"
                ;;
            mh__subcmd__sysstat,pair)
                cmd="mh__subcmd__sysstat__subcmd__pair"
                ;;
            mh__subcmd__timers,log-writer)
                cmd="mh__subcmd__timers__subcmd__log__subcmd__writer"
                ;;
            mh__subcmd__timers,run)
                cmd="mh__subcmd__timers__subcmd__run"
                ;;
            mh__subcmd__vmtasks,bench)
                cmd="mh__subcmd__vmtasks__subcmd__bench"
                ;;
            mh__subcmd__vmtasks,check)
                cmd="mh__subcmd__vmtasks__subcmd__check"
                ;;
            mh__subcmd__vmtasks,run)
                cmd="mh__subcmd__vmtasks__subcmd__run"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        mh)
            opts="-h -V --help --version tamp tar xjobs cp mv rm sum mtwrite vmtasks numa innodb db sysstat pstime ceiling systime fit locks timers load bakeoff crew tour links"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__bakeoff)
            opts="-a -w -p -S -N -i -h --command --resume --results --directory --all --json --html --at-least --runs --at-most --budget --width --warmup --prepare --shell --no-shell --ignore-failure --input --show-output --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --results)
                    COMPREPLY=()
                    return 0
                    ;;
                --directory)
                    COMPREPLY=()
                    return 0
                    ;;
                --html)
                    COMPREPLY=()
                    return 0
                    ;;
                --at-least)
                    COMPREPLY=()
                    return 0
                    ;;
                --at-most)
                    COMPREPLY=()
                    return 0
                    ;;
                --runs)
                    COMPREPLY=()
                    return 0
                    ;;
                --budget)
                    COMPREPLY=()
                    return 0
                    ;;
                --width)
                    COMPREPLY=()
                    return 0
                    ;;
                --warmup)
                    COMPREPLY=()
                    return 0
                    ;;
                -w)
                    COMPREPLY=()
                    return 0
                    ;;
                --prepare)
                    COMPREPLY=()
                    return 0
                    ;;
                -p)
                    COMPREPLY=()
                    return 0
                    ;;
                --shell)
                    COMPREPLY=()
                    return 0
                    ;;
                -S)
                    COMPREPLY=()
                    return 0
                    ;;
                --input)
                    COMPREPLY=()
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__ceiling)
            opts="-p -n -l -h --pid --count --ignore --json --csv --colour --color --long --record --replay --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --pid)
                    COMPREPLY=()
                    return 0
                    ;;
                -p)
                    COMPREPLY=()
                    return 0
                    ;;
                --count)
                    COMPREPLY=()
                    return 0
                    ;;
                -n)
                    COMPREPLY=()
                    return 0
                    ;;
                --ignore)
                    COMPREPLY=()
                    return 0
                    ;;
                --color)
                    COMPREPLY=($(compgen -W "auto always never" -- "${cur}"))
                    return 0
                    ;;
                --colour)
                    COMPREPLY=($(compgen -W "auto always never" -- "${cur}"))
                    return 0
                    ;;
                --record)
                    COMPREPLY=()
                    return 0
                    ;;
                --replay)
                    COMPREPLY=()
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__cp)
            opts="-a -r -d -p -P -L -H -f -i -n -u -v -x -t -T -l -s -b -S -Z -j -h -V --archive --recursive --preserve --no-preserve --no-dereference --dereference --force --interactive --no-clobber --update --verbose --debug --one-file-system --target-directory --no-target-directory --link --symbolic-link --attributes-only --copy-contents --reflink --sparse --parents --backup --suffix --remove-destination --strip-trailing-slashes --verify --digest --skip-same --resume --fsync --dry-run --on --nodes --cores --time --engine-args --spool --plan-only --no-verify --range --priority --weight --explain --report --hands --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --preserve)
                    COMPREPLY=()
                    return 0
                    ;;
                --no-preserve)
                    COMPREPLY=()
                    return 0
                    ;;
                --target-directory)
                    COMPREPLY=()
                    return 0
                    ;;
                -t)
                    COMPREPLY=()
                    return 0
                    ;;
                --reflink)
                    COMPREPLY=($(compgen -W "auto always never" -- "${cur}"))
                    return 0
                    ;;
                --sparse)
                    COMPREPLY=($(compgen -W "never auto always" -- "${cur}"))
                    return 0
                    ;;
                --backup)
                    COMPREPLY=()
                    return 0
                    ;;
                --suffix)
                    COMPREPLY=()
                    return 0
                    ;;
                -S)
                    COMPREPLY=()
                    return 0
                    ;;
                --verify)
                    COMPREPLY=($(compgen -W "bytes blake3" -- "${cur}"))
                    return 0
                    ;;
                --digest)
                    COMPREPLY=()
                    return 0
                    ;;
                --skip-same)
                    COMPREPLY=($(compgen -W "time blake3" -- "${cur}"))
                    return 0
                    ;;
                --on)
                    COMPREPLY=()
                    return 0
                    ;;
                --nodes)
                    COMPREPLY=()
                    return 0
                    ;;
                --cores)
                    COMPREPLY=()
                    return 0
                    ;;
                --time)
                    COMPREPLY=()
                    return 0
                    ;;
                --engine-args)
                    COMPREPLY=()
                    return 0
                    ;;
                --spool)
                    COMPREPLY=()
                    return 0
                    ;;
                --range)
                    COMPREPLY=()
                    return 0
                    ;;
                --priority)
                    COMPREPLY=($(compgen -W "high normal low idle" -- "${cur}"))
                    return 0
                    ;;
                --weight)
                    COMPREPLY=()
                    return 0
                    ;;
                --report)
                    COMPREPLY=($(compgen -W "text json" -- "${cur}"))
                    return 0
                    ;;
                --hands)
                    COMPREPLY=()
                    return 0
                    ;;
                -j)
                    COMPREPLY=()
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__crew)
            opts="-n -l -h --count --json --once --colour --color --long --help set pause resume wait run"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --count)
                    COMPREPLY=()
                    return 0
                    ;;
                -n)
                    COMPREPLY=()
                    return 0
                    ;;
                --color)
                    COMPREPLY=($(compgen -W "auto always never" -- "${cur}"))
                    return 0
                    ;;
                --colour)
                    COMPREPLY=($(compgen -W "auto always never" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__crew__subcmd__pause)
            opts="-h --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__crew__subcmd__resume)
            opts="-h --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__crew__subcmd__run)
            opts="-j -h --priority --weight --hands --what --jobserver --explain --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --priority)
                    COMPREPLY=($(compgen -W "high normal low idle" -- "${cur}"))
                    return 0
                    ;;
                --weight)
                    COMPREPLY=()
                    return 0
                    ;;
                --hands)
                    COMPREPLY=()
                    return 0
                    ;;
                -j)
                    COMPREPLY=()
                    return 0
                    ;;
                --what)
                    COMPREPLY=()
                    return 0
                    ;;
                --jobserver)
                    COMPREPLY=($(compgen -W "fds fifo off" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__crew__subcmd__set)
            opts="-h --priority --weight --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --priority)
                    COMPREPLY=($(compgen -W "high normal low idle" -- "${cur}"))
                    return 0
                    ;;
                --weight)
                    COMPREPLY=()
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__crew__subcmd__wait)
            opts="-h --idle --timeout --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --timeout)
                    COMPREPLY=()
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__db)
            opts="-h --help load dump restore index verify"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__db__subcmd__dump)
            opts="-f -F -Z -j -q -n -N -t -T -e -s -a -b -B -C -c -O -x -d -p -U -W -w -h --file --format --compress --connections --jobs --verify --explain --report --quiet --priority --weight --schema --exclude-schema --table --exclude-table --table-and-children --exclude-table-and-children --exclude-table-data --exclude-table-data-and-children --extension --strict-names --schema-only --data-only --blobs --large-objects --no-blobs --no-large-objects --section --no-comments --no-publications --no-security-labels --no-subscriptions --no-tablespaces --no-toast-compression --no-unlogged-table-data --create --clean --if-exists --no-owner --no-acl --no-privileges --load-via-partition-root --disable-triggers --role --enable-row-security --serializable-deferrable --lock-wait-timeout --lock --skip-definer --skip-triggers --skip-routines --skip-events --database --dbname --pg --mysql --mariadb --host --port --user --username --password --no-password --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --file)
                    COMPREPLY=()
                    return 0
                    ;;
                -f)
                    COMPREPLY=()
                    return 0
                    ;;
                --format)
                    COMPREPLY=()
                    return 0
                    ;;
                -F)
                    COMPREPLY=()
                    return 0
                    ;;
                --compress)
                    COMPREPLY=()
                    return 0
                    ;;
                -Z)
                    COMPREPLY=()
                    return 0
                    ;;
                --jobs)
                    COMPREPLY=()
                    return 0
                    ;;
                --connections)
                    COMPREPLY=()
                    return 0
                    ;;
                -j)
                    COMPREPLY=()
                    return 0
                    ;;
                --report)
                    COMPREPLY=($(compgen -W "text json" -- "${cur}"))
                    return 0
                    ;;
                --priority)
                    COMPREPLY=($(compgen -W "high normal low idle" -- "${cur}"))
                    return 0
                    ;;
                --weight)
                    COMPREPLY=()
                    return 0
                    ;;
                --schema)
                    COMPREPLY=()
                    return 0
                    ;;
                -n)
                    COMPREPLY=()
                    return 0
                    ;;
                --exclude-schema)
                    COMPREPLY=()
                    return 0
                    ;;
                -N)
                    COMPREPLY=()
                    return 0
                    ;;
                --table)
                    COMPREPLY=()
                    return 0
                    ;;
                -t)
                    COMPREPLY=()
                    return 0
                    ;;
                --exclude-table)
                    COMPREPLY=()
                    return 0
                    ;;
                -T)
                    COMPREPLY=()
                    return 0
                    ;;
                --table-and-children)
                    COMPREPLY=()
                    return 0
                    ;;
                --exclude-table-and-children)
                    COMPREPLY=()
                    return 0
                    ;;
                --exclude-table-data)
                    COMPREPLY=()
                    return 0
                    ;;
                --exclude-table-data-and-children)
                    COMPREPLY=()
                    return 0
                    ;;
                --extension)
                    COMPREPLY=()
                    return 0
                    ;;
                -e)
                    COMPREPLY=()
                    return 0
                    ;;
                --section)
                    COMPREPLY=($(compgen -W "pre-data data post-data" -- "${cur}"))
                    return 0
                    ;;
                --role)
                    COMPREPLY=()
                    return 0
                    ;;
                --lock-wait-timeout)
                    COMPREPLY=()
                    return 0
                    ;;
                --lock)
                    COMPREPLY=($(compgen -W "auto flush none" -- "${cur}"))
                    return 0
                    ;;
                --dbname)
                    COMPREPLY=()
                    return 0
                    ;;
                --database)
                    COMPREPLY=()
                    return 0
                    ;;
                -d)
                    COMPREPLY=()
                    return 0
                    ;;
                --host)
                    COMPREPLY=()
                    return 0
                    ;;
                --port)
                    COMPREPLY=()
                    return 0
                    ;;
                -p)
                    COMPREPLY=()
                    return 0
                    ;;
                --username)
                    COMPREPLY=()
                    return 0
                    ;;
                --user)
                    COMPREPLY=()
                    return 0
                    ;;
                -U)
                    COMPREPLY=()
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__db__subcmd__index)
            opts="-t -e -j -q -d -p -U -W -w -h --rebuild --table --concurrently --resume --exit-on-error --connections --jobs --memory --explain --report --quiet --priority --weight --database --dbname --pg --mysql --mariadb --host --port --user --username --password --no-password --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --table)
                    COMPREPLY=()
                    return 0
                    ;;
                -t)
                    COMPREPLY=()
                    return 0
                    ;;
                --jobs)
                    COMPREPLY=()
                    return 0
                    ;;
                --connections)
                    COMPREPLY=()
                    return 0
                    ;;
                -j)
                    COMPREPLY=()
                    return 0
                    ;;
                --memory)
                    COMPREPLY=()
                    return 0
                    ;;
                --report)
                    COMPREPLY=($(compgen -W "text json" -- "${cur}"))
                    return 0
                    ;;
                --priority)
                    COMPREPLY=($(compgen -W "high normal low idle" -- "${cur}"))
                    return 0
                    ;;
                --weight)
                    COMPREPLY=()
                    return 0
                    ;;
                --dbname)
                    COMPREPLY=()
                    return 0
                    ;;
                --database)
                    COMPREPLY=()
                    return 0
                    ;;
                -d)
                    COMPREPLY=()
                    return 0
                    ;;
                --host)
                    COMPREPLY=()
                    return 0
                    ;;
                --port)
                    COMPREPLY=()
                    return 0
                    ;;
                -p)
                    COMPREPLY=()
                    return 0
                    ;;
                --username)
                    COMPREPLY=()
                    return 0
                    ;;
                --user)
                    COMPREPLY=()
                    return 0
                    ;;
                -U)
                    COMPREPLY=()
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__db__subcmd__load)
            opts="-j -q -d -p -U -W -w -h --columns --truncate --ordered --reject --reject-limit --resume --connections --jobs --priority --weight --memory --explain --report --quiet --database --dbname --pg --mysql --mariadb --host --port --user --username --password --no-password --csv --tsv --text --header --delimiter --quote --escape --null --encoding --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --columns)
                    COMPREPLY=()
                    return 0
                    ;;
                --reject)
                    COMPREPLY=()
                    return 0
                    ;;
                --reject-limit)
                    COMPREPLY=()
                    return 0
                    ;;
                --jobs)
                    COMPREPLY=()
                    return 0
                    ;;
                --connections)
                    COMPREPLY=()
                    return 0
                    ;;
                -j)
                    COMPREPLY=()
                    return 0
                    ;;
                --priority)
                    COMPREPLY=($(compgen -W "high normal low idle" -- "${cur}"))
                    return 0
                    ;;
                --weight)
                    COMPREPLY=()
                    return 0
                    ;;
                --memory)
                    COMPREPLY=()
                    return 0
                    ;;
                --report)
                    COMPREPLY=($(compgen -W "text json" -- "${cur}"))
                    return 0
                    ;;
                --dbname)
                    COMPREPLY=()
                    return 0
                    ;;
                --database)
                    COMPREPLY=()
                    return 0
                    ;;
                -d)
                    COMPREPLY=()
                    return 0
                    ;;
                --host)
                    COMPREPLY=()
                    return 0
                    ;;
                --port)
                    COMPREPLY=()
                    return 0
                    ;;
                -p)
                    COMPREPLY=()
                    return 0
                    ;;
                --username)
                    COMPREPLY=()
                    return 0
                    ;;
                --user)
                    COMPREPLY=()
                    return 0
                    ;;
                -U)
                    COMPREPLY=()
                    return 0
                    ;;
                --header)
                    COMPREPLY=($(compgen -W "check skip match names" -- "${cur}"))
                    return 0
                    ;;
                --delimiter)
                    COMPREPLY=()
                    return 0
                    ;;
                --quote)
                    COMPREPLY=()
                    return 0
                    ;;
                --escape)
                    COMPREPLY=()
                    return 0
                    ;;
                --null)
                    COMPREPLY=()
                    return 0
                    ;;
                --encoding)
                    COMPREPLY=()
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__db__subcmd__restore)
            opts="-j -c -e -q -n -N -t -I -P -T -s -a -L -O -x -d -p -U -W -w -h --connections --jobs --clean --if-exists --into-existing --resume --exit-on-error --vacuum --verify --memory --explain --report --quiet --priority --weight --schema --exclude-schema --table --index --function --trigger --schema-only --data-only --section --use-list --strict-names --no-owner --no-acl --no-privileges --no-comments --no-publications --no-security-labels --no-subscriptions --no-tablespaces --no-table-access-method --role --enable-row-security --database --dbname --pg --mysql --mariadb --host --port --user --username --password --no-password --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --jobs)
                    COMPREPLY=()
                    return 0
                    ;;
                --connections)
                    COMPREPLY=()
                    return 0
                    ;;
                -j)
                    COMPREPLY=()
                    return 0
                    ;;
                --memory)
                    COMPREPLY=()
                    return 0
                    ;;
                --report)
                    COMPREPLY=($(compgen -W "text json" -- "${cur}"))
                    return 0
                    ;;
                --priority)
                    COMPREPLY=($(compgen -W "high normal low idle" -- "${cur}"))
                    return 0
                    ;;
                --weight)
                    COMPREPLY=()
                    return 0
                    ;;
                --schema)
                    COMPREPLY=()
                    return 0
                    ;;
                -n)
                    COMPREPLY=()
                    return 0
                    ;;
                --exclude-schema)
                    COMPREPLY=()
                    return 0
                    ;;
                -N)
                    COMPREPLY=()
                    return 0
                    ;;
                --table)
                    COMPREPLY=()
                    return 0
                    ;;
                -t)
                    COMPREPLY=()
                    return 0
                    ;;
                --index)
                    COMPREPLY=()
                    return 0
                    ;;
                -I)
                    COMPREPLY=()
                    return 0
                    ;;
                --function)
                    COMPREPLY=()
                    return 0
                    ;;
                -P)
                    COMPREPLY=()
                    return 0
                    ;;
                --trigger)
                    COMPREPLY=()
                    return 0
                    ;;
                -T)
                    COMPREPLY=()
                    return 0
                    ;;
                --section)
                    COMPREPLY=($(compgen -W "pre-data data post-data" -- "${cur}"))
                    return 0
                    ;;
                --use-list)
                    COMPREPLY=()
                    return 0
                    ;;
                -L)
                    COMPREPLY=()
                    return 0
                    ;;
                --role)
                    COMPREPLY=()
                    return 0
                    ;;
                --dbname)
                    COMPREPLY=()
                    return 0
                    ;;
                --database)
                    COMPREPLY=()
                    return 0
                    ;;
                -d)
                    COMPREPLY=()
                    return 0
                    ;;
                --host)
                    COMPREPLY=()
                    return 0
                    ;;
                --port)
                    COMPREPLY=()
                    return 0
                    ;;
                -p)
                    COMPREPLY=()
                    return 0
                    ;;
                --username)
                    COMPREPLY=()
                    return 0
                    ;;
                --user)
                    COMPREPLY=()
                    return 0
                    ;;
                -U)
                    COMPREPLY=()
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__db__subcmd__verify)
            opts="-t -j -q -d -p -U -W -w -h --other --table --connections --jobs --lock --explain --json --report --quiet --priority --weight --database --dbname --pg --mysql --mariadb --host --port --user --username --password --no-password --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --other)
                    COMPREPLY=()
                    return 0
                    ;;
                --table)
                    COMPREPLY=()
                    return 0
                    ;;
                -t)
                    COMPREPLY=()
                    return 0
                    ;;
                --jobs)
                    COMPREPLY=()
                    return 0
                    ;;
                --connections)
                    COMPREPLY=()
                    return 0
                    ;;
                -j)
                    COMPREPLY=()
                    return 0
                    ;;
                --lock)
                    COMPREPLY=($(compgen -W "auto flush none" -- "${cur}"))
                    return 0
                    ;;
                --report)
                    COMPREPLY=($(compgen -W "text json" -- "${cur}"))
                    return 0
                    ;;
                --priority)
                    COMPREPLY=($(compgen -W "high normal low idle" -- "${cur}"))
                    return 0
                    ;;
                --weight)
                    COMPREPLY=()
                    return 0
                    ;;
                --dbname)
                    COMPREPLY=()
                    return 0
                    ;;
                --database)
                    COMPREPLY=()
                    return 0
                    ;;
                -d)
                    COMPREPLY=()
                    return 0
                    ;;
                --host)
                    COMPREPLY=()
                    return 0
                    ;;
                --port)
                    COMPREPLY=()
                    return 0
                    ;;
                -p)
                    COMPREPLY=()
                    return 0
                    ;;
                --username)
                    COMPREPLY=()
                    return 0
                    ;;
                --user)
                    COMPREPLY=()
                    return 0
                    ;;
                -U)
                    COMPREPLY=()
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__fit)
            opts="-p -l -h --pid --user --comm --args --cgroup --with --add --reserve --json --csv --colour --color --long --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --pid)
                    COMPREPLY=()
                    return 0
                    ;;
                -p)
                    COMPREPLY=()
                    return 0
                    ;;
                --user)
                    COMPREPLY=()
                    return 0
                    ;;
                --comm)
                    COMPREPLY=()
                    return 0
                    ;;
                --args)
                    COMPREPLY=()
                    return 0
                    ;;
                --cgroup)
                    COMPREPLY=()
                    return 0
                    ;;
                --with)
                    COMPREPLY=()
                    return 0
                    ;;
                --add)
                    COMPREPLY=()
                    return 0
                    ;;
                --reserve)
                    COMPREPLY=()
                    return 0
                    ;;
                --color)
                    COMPREPLY=($(compgen -W "auto always never" -- "${cur}"))
                    return 0
                    ;;
                --colour)
                    COMPREPLY=($(compgen -W "auto always never" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__innodb)
            opts="-S -q -v -j -h -V --summary --dump --json --quiet --verbose --hands --priority --weight --memory --explain --report --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --dump)
                    COMPREPLY=()
                    return 0
                    ;;
                --hands)
                    COMPREPLY=()
                    return 0
                    ;;
                -j)
                    COMPREPLY=()
                    return 0
                    ;;
                --priority)
                    COMPREPLY=($(compgen -W "high normal low idle" -- "${cur}"))
                    return 0
                    ;;
                --weight)
                    COMPREPLY=()
                    return 0
                    ;;
                --memory)
                    COMPREPLY=()
                    return 0
                    ;;
                --report)
                    COMPREPLY=($(compgen -W "text json" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__links)
            opts="-f -h --only --hard --force --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --only)
                    COMPREPLY=()
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__load)
            opts="-f -s -c -j -M -T -R -P -h --file --tables --table_size --table-size --scale --rand-type --keys --threads --connections --generators --protocol --pipeline --time --warmup-time --warmup --events --rate --arrivals --tx-rate --tx-jitter --think --think-varies --find-max --find-within --sweep --rounds --point-selects --simple-ranges --sum-ranges --order-ranges --distinct-ranges --range-selects --range-size --index-updates --non-index-updates --delete-inserts --skip-trx --create-secondary --auto-inc --mysql-storage-engine --rand-spec-iter --rand-spec-pct --rand-spec-res --rand-pareto-h --rand-zipfian-exp --overload --progress --report-interval --retries --keep-going --rand-seed --seed --server-pid --echo-service --echo-scheduler --json --hgrm --live --html --help prepare run cleanup"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --file)
                    COMPREPLY=()
                    return 0
                    ;;
                -f)
                    COMPREPLY=()
                    return 0
                    ;;
                --tables)
                    COMPREPLY=()
                    return 0
                    ;;
                --table-size)
                    COMPREPLY=()
                    return 0
                    ;;
                --table_size)
                    COMPREPLY=()
                    return 0
                    ;;
                --scale)
                    COMPREPLY=()
                    return 0
                    ;;
                -s)
                    COMPREPLY=()
                    return 0
                    ;;
                --keys)
                    COMPREPLY=($(compgen -W "uniform gaussian special pareto zipfian" -- "${cur}"))
                    return 0
                    ;;
                --rand-type)
                    COMPREPLY=($(compgen -W "uniform gaussian special pareto zipfian" -- "${cur}"))
                    return 0
                    ;;
                --connections)
                    COMPREPLY=()
                    return 0
                    ;;
                --threads)
                    COMPREPLY=()
                    return 0
                    ;;
                -c)
                    COMPREPLY=()
                    return 0
                    ;;
                --generators)
                    COMPREPLY=()
                    return 0
                    ;;
                -j)
                    COMPREPLY=()
                    return 0
                    ;;
                --protocol)
                    COMPREPLY=($(compgen -W "simple prepared" -- "${cur}"))
                    return 0
                    ;;
                -M)
                    COMPREPLY=($(compgen -W "simple prepared" -- "${cur}"))
                    return 0
                    ;;
                --pipeline)
                    COMPREPLY=()
                    return 0
                    ;;
                --time)
                    COMPREPLY=()
                    return 0
                    ;;
                -T)
                    COMPREPLY=()
                    return 0
                    ;;
                --warmup)
                    COMPREPLY=()
                    return 0
                    ;;
                --warmup-time)
                    COMPREPLY=()
                    return 0
                    ;;
                --events)
                    COMPREPLY=()
                    return 0
                    ;;
                --rate)
                    COMPREPLY=()
                    return 0
                    ;;
                -R)
                    COMPREPLY=()
                    return 0
                    ;;
                --arrivals)
                    COMPREPLY=($(compgen -W "poisson fixed" -- "${cur}"))
                    return 0
                    ;;
                --tx-rate)
                    COMPREPLY=()
                    return 0
                    ;;
                --tx-jitter)
                    COMPREPLY=()
                    return 0
                    ;;
                --think)
                    COMPREPLY=()
                    return 0
                    ;;
                --find-max)
                    COMPREPLY=()
                    return 0
                    ;;
                --find-within)
                    COMPREPLY=()
                    return 0
                    ;;
                --sweep)
                    COMPREPLY=()
                    return 0
                    ;;
                --rounds)
                    COMPREPLY=()
                    return 0
                    ;;
                --point-selects)
                    COMPREPLY=()
                    return 0
                    ;;
                --simple-ranges)
                    COMPREPLY=()
                    return 0
                    ;;
                --sum-ranges)
                    COMPREPLY=()
                    return 0
                    ;;
                --order-ranges)
                    COMPREPLY=()
                    return 0
                    ;;
                --distinct-ranges)
                    COMPREPLY=()
                    return 0
                    ;;
                --range-selects)
                    COMPREPLY=()
                    return 0
                    ;;
                --range-size)
                    COMPREPLY=()
                    return 0
                    ;;
                --index-updates)
                    COMPREPLY=()
                    return 0
                    ;;
                --non-index-updates)
                    COMPREPLY=()
                    return 0
                    ;;
                --delete-inserts)
                    COMPREPLY=()
                    return 0
                    ;;
                --skip-trx)
                    COMPREPLY=()
                    return 0
                    ;;
                --create-secondary)
                    COMPREPLY=()
                    return 0
                    ;;
                --auto-inc)
                    COMPREPLY=()
                    return 0
                    ;;
                --mysql-storage-engine)
                    COMPREPLY=()
                    return 0
                    ;;
                --rand-spec-iter)
                    COMPREPLY=()
                    return 0
                    ;;
                --rand-spec-pct)
                    COMPREPLY=()
                    return 0
                    ;;
                --rand-spec-res)
                    COMPREPLY=()
                    return 0
                    ;;
                --rand-pareto-h)
                    COMPREPLY=()
                    return 0
                    ;;
                --rand-zipfian-exp)
                    COMPREPLY=()
                    return 0
                    ;;
                --overload)
                    COMPREPLY=()
                    return 0
                    ;;
                --report-interval)
                    COMPREPLY=()
                    return 0
                    ;;
                --progress)
                    COMPREPLY=()
                    return 0
                    ;;
                -P)
                    COMPREPLY=()
                    return 0
                    ;;
                --retries)
                    COMPREPLY=()
                    return 0
                    ;;
                --seed)
                    COMPREPLY=()
                    return 0
                    ;;
                --rand-seed)
                    COMPREPLY=()
                    return 0
                    ;;
                --server-pid)
                    COMPREPLY=()
                    return 0
                    ;;
                --echo-service)
                    COMPREPLY=()
                    return 0
                    ;;
                --echo-scheduler)
                    COMPREPLY=()
                    return 0
                    ;;
                --hgrm)
                    COMPREPLY=()
                    return 0
                    ;;
                --html)
                    COMPREPLY=()
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__locks)
            opts="-t -w -s -n -l -h --threads --hold --think --waiters --locks --scenario --rounds --seconds --no-pin --json --csv --colour --color --long --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --threads)
                    COMPREPLY=()
                    return 0
                    ;;
                -t)
                    COMPREPLY=()
                    return 0
                    ;;
                --hold)
                    COMPREPLY=()
                    return 0
                    ;;
                --think)
                    COMPREPLY=()
                    return 0
                    ;;
                --waiters)
                    COMPREPLY=($(compgen -W "one all handoff" -- "${cur}"))
                    return 0
                    ;;
                -w)
                    COMPREPLY=($(compgen -W "one all handoff" -- "${cur}"))
                    return 0
                    ;;
                --locks)
                    COMPREPLY=($(compgen -W "tas tas-pause backoff ticket mcs clh adaptive spin-sleep futex futex-all handoff pthread pthread-spin std parking_lot pthread-rw pthread-rw-w std-rw parking_lot-rw innodb" -- "${cur}"))
                    return 0
                    ;;
                --scenario)
                    COMPREPLY=($(compgen -W "uncontended short long burst hog oversubscribed herd preempted readers" -- "${cur}"))
                    return 0
                    ;;
                -s)
                    COMPREPLY=($(compgen -W "uncontended short long burst hog oversubscribed herd preempted readers" -- "${cur}"))
                    return 0
                    ;;
                --rounds)
                    COMPREPLY=()
                    return 0
                    ;;
                -n)
                    COMPREPLY=()
                    return 0
                    ;;
                --seconds)
                    COMPREPLY=()
                    return 0
                    ;;
                --color)
                    COMPREPLY=($(compgen -W "auto always never" -- "${cur}"))
                    return 0
                    ;;
                --colour)
                    COMPREPLY=($(compgen -W "auto always never" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__mtwrite)
            opts="-j -h --hands --priority --weight --memory --explain --report --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --hands)
                    COMPREPLY=()
                    return 0
                    ;;
                -j)
                    COMPREPLY=()
                    return 0
                    ;;
                --priority)
                    COMPREPLY=($(compgen -W "high normal low idle" -- "${cur}"))
                    return 0
                    ;;
                --weight)
                    COMPREPLY=()
                    return 0
                    ;;
                --memory)
                    COMPREPLY=()
                    return 0
                    ;;
                --report)
                    COMPREPLY=($(compgen -W "text json" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__mv)
            opts="-f -i -n -u -v -t -T -b -S -j -h -V --force --interactive --no-clobber --update --verbose --target-directory --no-target-directory --backup --suffix --strip-trailing-slashes --verify --dry-run --priority --weight --explain --report --hands --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --target-directory)
                    COMPREPLY=()
                    return 0
                    ;;
                -t)
                    COMPREPLY=()
                    return 0
                    ;;
                --backup)
                    COMPREPLY=()
                    return 0
                    ;;
                --suffix)
                    COMPREPLY=()
                    return 0
                    ;;
                -S)
                    COMPREPLY=()
                    return 0
                    ;;
                --verify)
                    COMPREPLY=($(compgen -W "bytes blake3" -- "${cur}"))
                    return 0
                    ;;
                --priority)
                    COMPREPLY=($(compgen -W "high normal low idle" -- "${cur}"))
                    return 0
                    ;;
                --weight)
                    COMPREPLY=()
                    return 0
                    ;;
                --report)
                    COMPREPLY=($(compgen -W "text json" -- "${cur}"))
                    return 0
                    ;;
                --hands)
                    COMPREPLY=()
                    return 0
                    ;;
                -j)
                    COMPREPLY=()
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__numa)
            opts="-h --help run check"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__numa__subcmd__check)
            opts="-l -h --min-size --all --json --colour --color --long --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --min-size)
                    COMPREPLY=()
                    return 0
                    ;;
                --color)
                    COMPREPLY=($(compgen -W "auto always never" -- "${cur}"))
                    return 0
                    ;;
                --colour)
                    COMPREPLY=($(compgen -W "auto always never" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__numa__subcmd__run)
            opts="-h --startup --then --startup-time --min-size --explain --report --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --startup)
                    COMPREPLY=()
                    return 0
                    ;;
                --then)
                    COMPREPLY=()
                    return 0
                    ;;
                --startup-time)
                    COMPREPLY=()
                    return 0
                    ;;
                --min-size)
                    COMPREPLY=()
                    return 0
                    ;;
                --report)
                    COMPREPLY=($(compgen -W "text json" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__pstime)
            opts="-p -n -s -t -m -c -C -u -o -a -l -h --pid --count --seconds --threads --microstates --exact --children --name --user --by --of --columns --sort --min --top --all --json --csv --colour --color --long --record --replay --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --pid)
                    COMPREPLY=()
                    return 0
                    ;;
                -p)
                    COMPREPLY=()
                    return 0
                    ;;
                --count)
                    COMPREPLY=()
                    return 0
                    ;;
                -n)
                    COMPREPLY=()
                    return 0
                    ;;
                --name)
                    COMPREPLY=()
                    return 0
                    ;;
                -C)
                    COMPREPLY=()
                    return 0
                    ;;
                --user)
                    COMPREPLY=()
                    return 0
                    ;;
                -u)
                    COMPREPLY=()
                    return 0
                    ;;
                --by)
                    COMPREPLY=($(compgen -W "user cgroup unit name" -- "${cur}"))
                    return 0
                    ;;
                --of)
                    COMPREPLY=($(compgen -W "machine core quota" -- "${cur}"))
                    return 0
                    ;;
                --columns)
                    COMPREPLY=($(compgen -W "uid pid tid usr sys error cpu stale core secs wait block sleep members cgroup unit name command" -- "${cur}"))
                    return 0
                    ;;
                -o)
                    COMPREPLY=($(compgen -W "uid pid tid usr sys error cpu stale core secs wait block sleep members cgroup unit name command" -- "${cur}"))
                    return 0
                    ;;
                --sort)
                    COMPREPLY=($(compgen -W "cpu usr sys wait pid name" -- "${cur}"))
                    return 0
                    ;;
                --min)
                    COMPREPLY=()
                    return 0
                    ;;
                --top)
                    COMPREPLY=()
                    return 0
                    ;;
                --color)
                    COMPREPLY=($(compgen -W "auto always never" -- "${cur}"))
                    return 0
                    ;;
                --colour)
                    COMPREPLY=($(compgen -W "auto always never" -- "${cur}"))
                    return 0
                    ;;
                --record)
                    COMPREPLY=()
                    return 0
                    ;;
                --replay)
                    COMPREPLY=()
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__rm)
            opts="-r -f -i -I -d -v -j -h -V --recursive --force --interactive --dir --verbose --one-file-system --preserve-root --no-preserve-root --dry-run --priority --weight --explain --report --hands --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --interactive)
                    COMPREPLY=($(compgen -W "never once always" -- "${cur}"))
                    return 0
                    ;;
                --preserve-root)
                    COMPREPLY=($(compgen -W " all" -- "${cur}"))
                    return 0
                    ;;
                --priority)
                    COMPREPLY=($(compgen -W "high normal low idle" -- "${cur}"))
                    return 0
                    ;;
                --weight)
                    COMPREPLY=()
                    return 0
                    ;;
                --report)
                    COMPREPLY=($(compgen -W "text json" -- "${cur}"))
                    return 0
                    ;;
                --hands)
                    COMPREPLY=()
                    return 0
                    ;;
                -j)
                    COMPREPLY=()
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__sum)
            opts="-a -c -z -r -w -j -h -V --algorithm --check --tag --untagged --zero --recursive --exact --quiet --status --strict --warn --ignore-missing --json --on --nodes --cores --time --engine-args --spool --plan-only --hands --priority --weight --memory --explain --report --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --algorithm)
                    COMPREPLY=()
                    return 0
                    ;;
                -a)
                    COMPREPLY=()
                    return 0
                    ;;
                --exact)
                    COMPREPLY=()
                    return 0
                    ;;
                --on)
                    COMPREPLY=()
                    return 0
                    ;;
                --nodes)
                    COMPREPLY=()
                    return 0
                    ;;
                --cores)
                    COMPREPLY=()
                    return 0
                    ;;
                --time)
                    COMPREPLY=()
                    return 0
                    ;;
                --engine-args)
                    COMPREPLY=()
                    return 0
                    ;;
                --spool)
                    COMPREPLY=()
                    return 0
                    ;;
                --hands)
                    COMPREPLY=()
                    return 0
                    ;;
                -j)
                    COMPREPLY=()
                    return 0
                    ;;
                --priority)
                    COMPREPLY=($(compgen -W "high normal low idle" -- "${cur}"))
                    return 0
                    ;;
                --weight)
                    COMPREPLY=()
                    return 0
                    ;;
                --memory)
                    COMPREPLY=()
                    return 0
                    ;;
                --report)
                    COMPREPLY=($(compgen -W "text json" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__sysstat)
            opts="-n -d -l -h --count --plain --once --header --record --keep --replay --hosts --fleet --alone --daemon --no-answer --port --interface --program --web --metrics --json --csv --colour --color --long --help key enroll pair"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --count)
                    COMPREPLY=()
                    return 0
                    ;;
                -n)
                    COMPREPLY=()
                    return 0
                    ;;
                --record)
                    COMPREPLY=()
                    return 0
                    ;;
                --keep)
                    COMPREPLY=()
                    return 0
                    ;;
                --replay)
                    COMPREPLY=()
                    return 0
                    ;;
                --hosts)
                    COMPREPLY=()
                    return 0
                    ;;
                --port)
                    COMPREPLY=()
                    return 0
                    ;;
                --interface)
                    COMPREPLY=()
                    return 0
                    ;;
                --program)
                    COMPREPLY=()
                    return 0
                    ;;
                --web)
                    COMPREPLY=()
                    return 0
                    ;;
                --metrics)
                    COMPREPLY=()
                    return 0
                    ;;
                --color)
                    COMPREPLY=($(compgen -W "auto always never" -- "${cur}"))
                    return 0
                    ;;
                --colour)
                    COMPREPLY=($(compgen -W "auto always never" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__sysstat__subcmd__enroll)
            opts="-h --role --program --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --role)
                    COMPREPLY=($(compgen -W "full numbers" -- "${cur}"))
                    return 0
                    ;;
                --program)
                    COMPREPLY=()
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__sysstat__subcmd__key)
            opts="-h --new --public --role --rotate --grace --trust --ticket --host --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --new)
                    COMPREPLY=()
                    return 0
                    ;;
                --role)
                    COMPREPLY=($(compgen -W "full numbers" -- "${cur}"))
                    return 0
                    ;;
                --grace)
                    COMPREPLY=()
                    return 0
                    ;;
                --trust)
                    COMPREPLY=()
                    return 0
                    ;;
                --ticket)
                    COMPREPLY=()
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__sysstat__subcmd__pair)
            opts="-h --role --within --port --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --role)
                    COMPREPLY=($(compgen -W "full numbers" -- "${cur}"))
                    return 0
                    ;;
                --within)
                    COMPREPLY=()
                    return 0
                    ;;
                --port)
                    COMPREPLY=()
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__systime)
            opts="-p -e -i -a -l -o -h --pid --exact --trace --by --call --count --every --top --all --histogram --json --csv --colour --color --long --output --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --pid)
                    COMPREPLY=()
                    return 0
                    ;;
                -p)
                    COMPREPLY=()
                    return 0
                    ;;
                --by)
                    COMPREPLY=($(compgen -W "all comm pid thread cgroup" -- "${cur}"))
                    return 0
                    ;;
                --call)
                    COMPREPLY=()
                    return 0
                    ;;
                -e)
                    COMPREPLY=()
                    return 0
                    ;;
                --count)
                    COMPREPLY=()
                    return 0
                    ;;
                --every)
                    COMPREPLY=()
                    return 0
                    ;;
                -i)
                    COMPREPLY=()
                    return 0
                    ;;
                --top)
                    COMPREPLY=()
                    return 0
                    ;;
                --color)
                    COMPREPLY=($(compgen -W "auto always never" -- "${cur}"))
                    return 0
                    ;;
                --colour)
                    COMPREPLY=($(compgen -W "auto always never" -- "${cur}"))
                    return 0
                    ;;
                --output)
                    COMPREPLY=()
                    return 0
                    ;;
                -o)
                    COMPREPLY=()
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__tamp)
            opts="-z -d -t -l -c -o -f -k -r -e -F -S -D -q -v -j -h -V --compress --uncompress --decompress --test --list --to-stdout --stdout --output --force --keep --rm --keep-good --fsync --sparse --no-sparse --recursive --level --keep-up --fast --best --extreme --ultra --format --suffix --long --digest --dictionary --single-frame --rsyncable --bgzf --json --quiet --verbose --on --nodes --cores --time --engine-args --spool --plan-only --range --hands --priority --weight --memory --explain --report --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --output)
                    COMPREPLY=()
                    return 0
                    ;;
                -o)
                    COMPREPLY=()
                    return 0
                    ;;
                --level)
                    COMPREPLY=()
                    return 0
                    ;;
                --keep-up)
                    COMPREPLY=()
                    return 0
                    ;;
                --fast)
                    COMPREPLY=()
                    return 0
                    ;;
                --format)
                    COMPREPLY=($(compgen -W "zst zstd gz gzip bz2 bzip2 lz4 xz lzma" -- "${cur}"))
                    return 0
                    ;;
                -F)
                    COMPREPLY=($(compgen -W "zst zstd gz gzip bz2 bzip2 lz4 xz lzma" -- "${cur}"))
                    return 0
                    ;;
                --suffix)
                    COMPREPLY=()
                    return 0
                    ;;
                -S)
                    COMPREPLY=()
                    return 0
                    ;;
                --long)
                    COMPREPLY=()
                    return 0
                    ;;
                --digest)
                    COMPREPLY=()
                    return 0
                    ;;
                --dictionary)
                    COMPREPLY=()
                    return 0
                    ;;
                -D)
                    COMPREPLY=()
                    return 0
                    ;;
                --on)
                    COMPREPLY=()
                    return 0
                    ;;
                --nodes)
                    COMPREPLY=()
                    return 0
                    ;;
                --cores)
                    COMPREPLY=()
                    return 0
                    ;;
                --time)
                    COMPREPLY=()
                    return 0
                    ;;
                --engine-args)
                    COMPREPLY=()
                    return 0
                    ;;
                --spool)
                    COMPREPLY=()
                    return 0
                    ;;
                --range)
                    COMPREPLY=()
                    return 0
                    ;;
                --hands)
                    COMPREPLY=()
                    return 0
                    ;;
                -j)
                    COMPREPLY=()
                    return 0
                    ;;
                --priority)
                    COMPREPLY=($(compgen -W "high normal low idle" -- "${cur}"))
                    return 0
                    ;;
                --weight)
                    COMPREPLY=()
                    return 0
                    ;;
                --memory)
                    COMPREPLY=()
                    return 0
                    ;;
                --report)
                    COMPREPLY=($(compgen -W "text json" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__tar)
            opts="-c -x -t -r -u -d -A -f -M -L -F -v -z -j -J -Z -a -I -p -k -U -C -T -X -N -0 -O -K -h -P -m -o -H -S -g -G -i -W -l -V -w -R --create --get --extract --list --append --update --compare --diff --catenate --concatenate --delete --test-label --show-defaults --file --multi-volume --tape-length --new-volume-script --info-script --volno-file --verbose --gunzip --gzip --bzip2 --xz --zstd --lz4 --lzma --lzip --lzop --compress --auto-compress --use-compress-program --level --same-permissions --preserve-permissions --no-same-permissions --keep-old-files --skip-old-files --keep-newer-files --overwrite --no-overwrite-dir --unlink-first --backup --suffix --recursive-unlink --keep-directory-symlink --directory --add-file --files-from --exclude --exclude-from --exclude-vcs --exclude-backups --after-date --newer --newer-mtime --recursion --no-recursion --exclude-caches --exclude-caches-under --exclude-caches-all --exclude-tag --exclude-tag-under --exclude-tag-all --exclude-ignore --exclude-ignore-recursive --exclude-vcs-ignores --strip-components --xform --transform --wildcards --no-wildcards --anchored --no-anchored --ignore-case --no-ignore-case --wildcards-match-slash --no-wildcards-match-slash --null --no-null --verbatim-files-from --no-verbatim-files-from --unquote --no-unquote --to-stdout --to-command --ignore-command-error --starting-file --one-file-system --dereference --hard-dereference --absolute-names --touch --same-owner --no-same-owner --numeric-owner --owner --group --mode --mtime --clamp-mtime --set-mtime-command --set-mtime-format --sort --format --pax-option --one-top-level --xattrs --no-xattrs --xattrs-include --xattrs-exclude --acls --no-acls --selinux --no-selinux --sparse --listed-incremental --incremental --check-device --no-check-device --no-index --ignore-zeros --ignore-failed-read --occurrence --remove-files --verify --check-links --label --hole-detection --sparse-version --owner-map --group-map --totals --checkpoint --checkpoint-action --confirmation --interactive --block-number --index-file --quoting-style --quote-chars --no-quote-chars --warning --untrusted --dry-run --full-time --utc --show-stored-names --show-transformed-names --force-local --atime-preserve --version --help --priority --weight --memory --explain --report --hands"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --file)
                    COMPREPLY=()
                    return 0
                    ;;
                -f)
                    COMPREPLY=()
                    return 0
                    ;;
                --tape-length)
                    COMPREPLY=()
                    return 0
                    ;;
                -L)
                    COMPREPLY=()
                    return 0
                    ;;
                --info-script)
                    COMPREPLY=()
                    return 0
                    ;;
                --new-volume-script)
                    COMPREPLY=()
                    return 0
                    ;;
                -F)
                    COMPREPLY=()
                    return 0
                    ;;
                --volno-file)
                    COMPREPLY=()
                    return 0
                    ;;
                --use-compress-program)
                    COMPREPLY=()
                    return 0
                    ;;
                -I)
                    COMPREPLY=()
                    return 0
                    ;;
                --level)
                    COMPREPLY=()
                    return 0
                    ;;
                --backup)
                    COMPREPLY=()
                    return 0
                    ;;
                --suffix)
                    COMPREPLY=()
                    return 0
                    ;;
                --directory)
                    COMPREPLY=()
                    return 0
                    ;;
                -C)
                    COMPREPLY=()
                    return 0
                    ;;
                --add-file)
                    COMPREPLY=()
                    return 0
                    ;;
                --files-from)
                    COMPREPLY=()
                    return 0
                    ;;
                -T)
                    COMPREPLY=()
                    return 0
                    ;;
                --exclude)
                    COMPREPLY=()
                    return 0
                    ;;
                --exclude-from)
                    COMPREPLY=()
                    return 0
                    ;;
                -X)
                    COMPREPLY=()
                    return 0
                    ;;
                --newer)
                    COMPREPLY=()
                    return 0
                    ;;
                --after-date)
                    COMPREPLY=()
                    return 0
                    ;;
                -N)
                    COMPREPLY=()
                    return 0
                    ;;
                --newer-mtime)
                    COMPREPLY=()
                    return 0
                    ;;
                --exclude-tag)
                    COMPREPLY=()
                    return 0
                    ;;
                --exclude-tag-under)
                    COMPREPLY=()
                    return 0
                    ;;
                --exclude-tag-all)
                    COMPREPLY=()
                    return 0
                    ;;
                --exclude-ignore)
                    COMPREPLY=()
                    return 0
                    ;;
                --exclude-ignore-recursive)
                    COMPREPLY=()
                    return 0
                    ;;
                --strip-components)
                    COMPREPLY=()
                    return 0
                    ;;
                --transform)
                    COMPREPLY=()
                    return 0
                    ;;
                --xform)
                    COMPREPLY=()
                    return 0
                    ;;
                --to-command)
                    COMPREPLY=()
                    return 0
                    ;;
                --starting-file)
                    COMPREPLY=()
                    return 0
                    ;;
                -K)
                    COMPREPLY=()
                    return 0
                    ;;
                --owner)
                    COMPREPLY=()
                    return 0
                    ;;
                --group)
                    COMPREPLY=()
                    return 0
                    ;;
                --mode)
                    COMPREPLY=()
                    return 0
                    ;;
                --mtime)
                    COMPREPLY=()
                    return 0
                    ;;
                --set-mtime-command)
                    COMPREPLY=()
                    return 0
                    ;;
                --set-mtime-format)
                    COMPREPLY=()
                    return 0
                    ;;
                --sort)
                    COMPREPLY=($(compgen -W "name inode none" -- "${cur}"))
                    return 0
                    ;;
                --format)
                    COMPREPLY=($(compgen -W "pax posix gnu oldgnu ustar v7" -- "${cur}"))
                    return 0
                    ;;
                -H)
                    COMPREPLY=($(compgen -W "pax posix gnu oldgnu ustar v7" -- "${cur}"))
                    return 0
                    ;;
                --pax-option)
                    COMPREPLY=()
                    return 0
                    ;;
                --one-top-level)
                    COMPREPLY=()
                    return 0
                    ;;
                --xattrs-include)
                    COMPREPLY=()
                    return 0
                    ;;
                --xattrs-exclude)
                    COMPREPLY=()
                    return 0
                    ;;
                --listed-incremental)
                    COMPREPLY=()
                    return 0
                    ;;
                -g)
                    COMPREPLY=()
                    return 0
                    ;;
                --occurrence)
                    COMPREPLY=()
                    return 0
                    ;;
                --label)
                    COMPREPLY=()
                    return 0
                    ;;
                -V)
                    COMPREPLY=()
                    return 0
                    ;;
                --hole-detection)
                    COMPREPLY=($(compgen -W "seek raw" -- "${cur}"))
                    return 0
                    ;;
                --sparse-version)
                    COMPREPLY=($(compgen -W "0.0 0.1 1.0 0 1" -- "${cur}"))
                    return 0
                    ;;
                --owner-map)
                    COMPREPLY=()
                    return 0
                    ;;
                --group-map)
                    COMPREPLY=()
                    return 0
                    ;;
                --totals)
                    COMPREPLY=()
                    return 0
                    ;;
                --checkpoint)
                    COMPREPLY=()
                    return 0
                    ;;
                --checkpoint-action)
                    COMPREPLY=()
                    return 0
                    ;;
                --index-file)
                    COMPREPLY=()
                    return 0
                    ;;
                --quoting-style)
                    COMPREPLY=($(compgen -W "literal shell shell-always c c-maybe escape locale clocale" -- "${cur}"))
                    return 0
                    ;;
                --quote-chars)
                    COMPREPLY=()
                    return 0
                    ;;
                --no-quote-chars)
                    COMPREPLY=()
                    return 0
                    ;;
                --warning)
                    COMPREPLY=()
                    return 0
                    ;;
                --atime-preserve)
                    COMPREPLY=($(compgen -W "replace system" -- "${cur}"))
                    return 0
                    ;;
                --priority)
                    COMPREPLY=($(compgen -W "high normal low idle" -- "${cur}"))
                    return 0
                    ;;
                --weight)
                    COMPREPLY=()
                    return 0
                    ;;
                --memory)
                    COMPREPLY=()
                    return 0
                    ;;
                --report)
                    COMPREPLY=($(compgen -W "text json" -- "${cur}"))
                    return 0
                    ;;
                --hands)
                    COMPREPLY=()
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__timers)
            opts="-c -n -l -h --load --per-cpu --call --wait --slack --count --json --csv --colour --color --long --help run log-writer"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --call)
                    COMPREPLY=($(compgen -W "poll ppoll select pselect nanosleep usleep sleep clock_nanosleep clock_nanosleep abs cond_timedwait mutex_timedlock rwlock_timedrdlock rwlock_timedwrlock sem_timedwait semtimedop mq_timedreceive mq_timedsend sigtimedwait aio_suspend setitimer real alarm timer_settime recv SO_RCVTIMEO epoll_wait epoll_pwait2 timerfd futex futex_waitv io_uring timeout io_uring_enter" -- "${cur}"))
                    return 0
                    ;;
                -c)
                    COMPREPLY=($(compgen -W "poll ppoll select pselect nanosleep usleep sleep clock_nanosleep clock_nanosleep abs cond_timedwait mutex_timedlock rwlock_timedrdlock rwlock_timedwrlock sem_timedwait semtimedop mq_timedreceive mq_timedsend sigtimedwait aio_suspend setitimer real alarm timer_settime recv SO_RCVTIMEO epoll_wait epoll_pwait2 timerfd futex futex_waitv io_uring timeout io_uring_enter" -- "${cur}"))
                    return 0
                    ;;
                --wait)
                    COMPREPLY=()
                    return 0
                    ;;
                --slack)
                    COMPREPLY=()
                    return 0
                    ;;
                --count)
                    COMPREPLY=()
                    return 0
                    ;;
                -n)
                    COMPREPLY=()
                    return 0
                    ;;
                --color)
                    COMPREPLY=($(compgen -W "auto always never" -- "${cur}"))
                    return 0
                    ;;
                --colour)
                    COMPREPLY=($(compgen -W "auto always never" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__timers__subcmd__log__subcmd__writer)
            opts="-h --waiters --every --time --json --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --waiters)
                    COMPREPLY=()
                    return 0
                    ;;
                --every)
                    COMPREPLY=()
                    return 0
                    ;;
                --time)
                    COMPREPLY=()
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__timers__subcmd__run)
            opts="-h --slack --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --slack)
                    COMPREPLY=()
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__tour)
            opts="-h --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__vmtasks)
            opts="-h --help run bench check"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__vmtasks__subcmd__bench)
            opts="-j -l -h --size --kind --lock --hands --rounds --directory --json --colour --color --long --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --size)
                    COMPREPLY=()
                    return 0
                    ;;
                --kind)
                    COMPREPLY=($(compgen -W "anon shm memfd sysv huge file" -- "${cur}"))
                    return 0
                    ;;
                --hands)
                    COMPREPLY=()
                    return 0
                    ;;
                -j)
                    COMPREPLY=()
                    return 0
                    ;;
                --rounds)
                    COMPREPLY=()
                    return 0
                    ;;
                --directory)
                    COMPREPLY=()
                    return 0
                    ;;
                --color)
                    COMPREPLY=($(compgen -W "auto always never" -- "${cur}"))
                    return 0
                    ;;
                --colour)
                    COMPREPLY=($(compgen -W "auto always never" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__vmtasks__subcmd__check)
            opts="-l -h --min-size --all --json --colour --color --long --locked --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --min-size)
                    COMPREPLY=()
                    return 0
                    ;;
                --color)
                    COMPREPLY=($(compgen -W "auto always never" -- "${cur}"))
                    return 0
                    ;;
                --colour)
                    COMPREPLY=($(compgen -W "auto always never" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__vmtasks__subcmd__run)
            opts="-j -h --lock --huge --min-size --ahead --window --strict --hands --priority --weight --explain --report --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --min-size)
                    COMPREPLY=()
                    return 0
                    ;;
                --window)
                    COMPREPLY=()
                    return 0
                    ;;
                --hands)
                    COMPREPLY=()
                    return 0
                    ;;
                -j)
                    COMPREPLY=()
                    return 0
                    ;;
                --priority)
                    COMPREPLY=($(compgen -W "high normal low idle" -- "${cur}"))
                    return 0
                    ;;
                --weight)
                    COMPREPLY=()
                    return 0
                    ;;
                --report)
                    COMPREPLY=($(compgen -W "text json" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        mh__subcmd__xjobs)
            opts="-P -j -a -s -l -1 -0 -n -N -d -u -q -p -e -t -r -v -V -k -I -C -X -L -h --hands --max-procs --jobs --arg-file --script --max-replace-args --max-args --null --ungroup --interactive --version --keep-order --lb --line-buffer --tag --res --results --journal --resume --resume-failed --retries --timeout --term-seq --halt-on-error --halt --delay --load --memory --mem-free --memfree --shell --col-sep --colsep --eta --progress --bar --plain --dry-run --on --nodes --cores --time --engine-args --spool --attach --lease --listen --until-idle --send --wait --finish --pipepart --pipe-part --spreadstdin --pipe --block-size --block --max-lines --recstart --recend --header --jl --joblog --tagstring --xapply --link --delimiter --nice --priority --weight --jobserver --explain --report --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --jobs)
                    COMPREPLY=()
                    return 0
                    ;;
                --hands)
                    COMPREPLY=()
                    return 0
                    ;;
                --max-procs)
                    COMPREPLY=()
                    return 0
                    ;;
                -j)
                    COMPREPLY=()
                    return 0
                    ;;
                -P)
                    COMPREPLY=()
                    return 0
                    ;;
                --script)
                    COMPREPLY=()
                    return 0
                    ;;
                --arg-file)
                    COMPREPLY=()
                    return 0
                    ;;
                -s)
                    COMPREPLY=()
                    return 0
                    ;;
                -a)
                    COMPREPLY=()
                    return 0
                    ;;
                --max-args)
                    COMPREPLY=()
                    return 0
                    ;;
                --max-replace-args)
                    COMPREPLY=()
                    return 0
                    ;;
                -l)
                    COMPREPLY=()
                    return 0
                    ;;
                -q)
                    COMPREPLY=()
                    return 0
                    ;;
                -v)
                    COMPREPLY=()
                    return 0
                    ;;
                --results)
                    COMPREPLY=()
                    return 0
                    ;;
                --res)
                    COMPREPLY=()
                    return 0
                    ;;
                --journal)
                    COMPREPLY=()
                    return 0
                    ;;
                --retries)
                    COMPREPLY=()
                    return 0
                    ;;
                --timeout)
                    COMPREPLY=()
                    return 0
                    ;;
                --term-seq)
                    COMPREPLY=()
                    return 0
                    ;;
                --halt)
                    COMPREPLY=()
                    return 0
                    ;;
                --halt-on-error)
                    COMPREPLY=()
                    return 0
                    ;;
                --delay)
                    COMPREPLY=()
                    return 0
                    ;;
                --load)
                    COMPREPLY=()
                    return 0
                    ;;
                --memory)
                    COMPREPLY=()
                    return 0
                    ;;
                --memfree)
                    COMPREPLY=()
                    return 0
                    ;;
                --mem-free)
                    COMPREPLY=()
                    return 0
                    ;;
                -I)
                    COMPREPLY=()
                    return 0
                    ;;
                --colsep)
                    COMPREPLY=()
                    return 0
                    ;;
                --col-sep)
                    COMPREPLY=()
                    return 0
                    ;;
                -C)
                    COMPREPLY=()
                    return 0
                    ;;
                --on)
                    COMPREPLY=()
                    return 0
                    ;;
                --nodes)
                    COMPREPLY=()
                    return 0
                    ;;
                --cores)
                    COMPREPLY=()
                    return 0
                    ;;
                --time)
                    COMPREPLY=()
                    return 0
                    ;;
                --engine-args)
                    COMPREPLY=()
                    return 0
                    ;;
                --spool)
                    COMPREPLY=()
                    return 0
                    ;;
                --attach)
                    COMPREPLY=()
                    return 0
                    ;;
                --lease)
                    COMPREPLY=()
                    return 0
                    ;;
                --listen)
                    COMPREPLY=()
                    return 0
                    ;;
                --send)
                    COMPREPLY=()
                    return 0
                    ;;
                --block)
                    COMPREPLY=()
                    return 0
                    ;;
                --block-size)
                    COMPREPLY=()
                    return 0
                    ;;
                --max-lines)
                    COMPREPLY=()
                    return 0
                    ;;
                -L)
                    COMPREPLY=()
                    return 0
                    ;;
                --recstart)
                    COMPREPLY=()
                    return 0
                    ;;
                --recend)
                    COMPREPLY=()
                    return 0
                    ;;
                --header)
                    COMPREPLY=()
                    return 0
                    ;;
                --joblog)
                    COMPREPLY=()
                    return 0
                    ;;
                --jl)
                    COMPREPLY=()
                    return 0
                    ;;
                --tagstring)
                    COMPREPLY=()
                    return 0
                    ;;
                --delimiter)
                    COMPREPLY=()
                    return 0
                    ;;
                --nice)
                    COMPREPLY=()
                    return 0
                    ;;
                --priority)
                    COMPREPLY=($(compgen -W "high normal low idle" -- "${cur}"))
                    return 0
                    ;;
                --weight)
                    COMPREPLY=()
                    return 0
                    ;;
                --jobserver)
                    COMPREPLY=($(compgen -W "fds fifo off" -- "${cur}"))
                    return 0
                    ;;
                --report)
                    COMPREPLY=($(compgen -W "text json" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _mh -o nosort -o bashdefault -o default mh
else
    complete -F _mh -o bashdefault -o default mh
fi

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
