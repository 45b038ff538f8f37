# Fish completion for penstockctl; tests/unit/ctl/completion_test.cc compares it with the parser.

function __penstockctl_words
    set -l wants no
    for token in (commandline -opc)[2..-1]
        if test $wants = yes
            set wants no
            continue
        end
        switch $token
            case --address --tls --all --to --output -o --color --config --deadline --set --seconds --for --timeout
                set wants yes
            case '-*'
            case '*'
                echo $token
        end
    end
end

function __penstockctl_at
    set -l words (__penstockctl_words)
    test "$words" = "$argv"
end

function __penstockctl_datasets
    timeout 2 penstockctl -o json datasets 2>/dev/null |
        sed -n 's/^ *"name": "\([A-Za-z0-9._\/-]*\)",\{0,1\}$/\1/p'
end

complete -c penstockctl -f
complete -c penstockctl -l address -r -F -d 'socket of the daemon, or NODE:PORT'
complete -c penstockctl -l tls -r -F -d 'folder with ca.crt, tls.crt and tls.key'
complete -c penstockctl -n '__penstockctl_at top' -l all -x -d 'a row for each of these daemons'
complete -c penstockctl -n 'not __penstockctl_at trace' -s o -l output -x -a 'table json yaml' -d 'output format, for people or for programs'
complete -c penstockctl -n '__penstockctl_at trace' -s o -l output -r -F -d 'output format, for people or for programs'
complete -c penstockctl -l color -x -a 'auto always never' -d 'colors in tables'
complete -c penstockctl -n '__penstockctl_at check' -l config -r -F -d 'also check this configuration'
complete -c penstockctl -n '__penstockctl_at drain' -l deadline -x -d 'stop waiting after this time'
complete -c penstockctl -n '__penstockctl_at drain' -l cancel -d 'serve again'
complete -c penstockctl -n '__penstockctl_at workers' -l set -x -d 'number of workers, until the daemon restarts'
complete -c penstockctl -n '__penstockctl_at trace' -l seconds -x -d 'trace duration in seconds, default 5'
complete -c penstockctl -n '__penstockctl_at status' -s w -l watch -d 'print it again whenever it changes'
complete -c penstockctl -n '__penstockctl_at sessions' -s w -l watch -d 'print it again whenever it changes'
complete -c penstockctl -n '__penstockctl_at workers' -s w -l watch -d 'print it again whenever it changes'
complete -c penstockctl -n '__penstockctl_at datasets' -s w -l watch -d 'print it again whenever it changes'
complete -c penstockctl -n '__penstockctl_at quarantine list' -s w -l watch -d 'print it again whenever it changes'
complete -c penstockctl -n '__penstockctl_at wait' -l for -x -a 'ready' -d 'what is waited for'
complete -c penstockctl -n '__penstockctl_at wait' -l timeout -x -d 'how long, default 30s'
complete -c penstockctl -n '__penstockctl_at index' -l export -d 'write an index beside each shard'
complete -c penstockctl -n '__penstockctl_at index' -l to -r -F -d 'folder for the indexes'
complete -c penstockctl -s h -l help -d 'show the help'
complete -c penstockctl -l version -d 'show the version'
complete -c penstockctl -n '__penstockctl_at ""' -a status -d 'state of the daemon, its pool and its feeds'
complete -c penstockctl -n '__penstockctl_at ""' -a sessions -d 'trainers, and what each waits for'
complete -c penstockctl -n '__penstockctl_at ""' -a workers -d 'decoding processes'
complete -c penstockctl -n '__penstockctl_at ""' -a datasets -d 'available datasets'
complete -c penstockctl -n '__penstockctl_at ""' -a top -d 'all of this, live, on one screen'
complete -c penstockctl -n '__penstockctl_at ""' -a trace -d 'write a timeline of samples and batches'
complete -c penstockctl -n '__penstockctl_at ""' -a index -d 'build or check a dataset index'
complete -c penstockctl -n '__penstockctl_at ""' -a digest -d 'print the SHA-256 of a dataset'
complete -c penstockctl -n '__penstockctl_at ""' -a fetch -d 'fill the cache with a dataset of a store'
complete -c penstockctl -n '__penstockctl_at ""' -a cache -d 'what is kept of object stores'
complete -c penstockctl -n '__penstockctl_at cache' -a list -d 'what is kept of which object'
complete -c penstockctl -n '__penstockctl_at cache' -a verify -d 'read all of it, report damage'
complete -c penstockctl -n '__penstockctl_at cache' -a clear -d 'remove all of it'
complete -c penstockctl -n '__penstockctl_at cache' -a warm -d 'fill the cache with a dataset of a store'
complete -c penstockctl -n '__penstockctl_at ""' -a quarantine -d 'samples that could not be used, with the reason'
complete -c penstockctl -n '__penstockctl_at quarantine' -a list -d 'samples that could not be used, with the reason'
complete -c penstockctl -n '__penstockctl_at quarantine' -a clear -d 'let new sessions try them again'
complete -c penstockctl -n '__penstockctl_at ""' -a drain -d 'refuse new sessions, wait for the end of epochs'
complete -c penstockctl -n '__penstockctl_at ""' -a reload -d 'read the configuration again'
complete -c penstockctl -n '__penstockctl_at ""' -a check -d 'list what would keep this machine from serving'
complete -c penstockctl -n '__penstockctl_at ""' -a wait -d 'wait until the daemon serves'
complete -c penstockctl -n '__penstockctl_at ""' -a version -d 'versions of penstockctl and of the daemon'
complete -c penstockctl -n '__penstockctl_at ""' -a completion -d 'print the completion script for a shell'
complete -c penstockctl -n '__penstockctl_at ""' -a help -d 'list commands and options, or explain a command'
complete -c penstockctl -n '__penstockctl_at index' -a '(__penstockctl_datasets)'
complete -c penstockctl -n '__penstockctl_at digest' -a '(__penstockctl_datasets)'
complete -c penstockctl -n '__penstockctl_at fetch' -a '(__penstockctl_datasets)'
complete -c penstockctl -n '__penstockctl_at cache warm' -a '(__penstockctl_datasets)'
complete -c penstockctl -n '__penstockctl_at cache list' -F
complete -c penstockctl -n '__penstockctl_at cache verify' -F
complete -c penstockctl -n '__penstockctl_at cache clear' -F
complete -c penstockctl -n '__penstockctl_at quarantine list' -a '(__penstockctl_datasets)'
complete -c penstockctl -n '__penstockctl_at quarantine clear' -a '(__penstockctl_datasets)'
complete -c penstockctl -n '__penstockctl_at completion' -a 'bash zsh fish'
complete -c penstockctl -n '__penstockctl_at help' -a 'status sessions workers datasets top trace index digest fetch cache quarantine drain reload check wait version completion help'
