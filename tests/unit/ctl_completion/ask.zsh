# ask.zsh COMPLETION LINE: prints what zsh would offer after LINE, one word per line. Types the line and a
# tab into a zsh on its own terminal, in which compadd, through which every offer goes, prints the words.
zmodload zsh/zpty
zpty asked zsh -f -i
zpty -w asked "PROMPT= RPROMPT=; unsetopt zle_bracketed_paste prompt_cr prompt_sp; autoload -U compinit; compinit -u -d ~/dump; source $1"
zpty -w asked 'setopt rcexpandparam; compadd() {
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return; fi
  local -a offered; builtin compadd -A offered "$@"
  (( $#offered )) && print -l -- "OFFERED:"$offered
  builtin compadd "$@"
}
done-with-it() { print -l DONE }; zle -N done-with-it; bindkey "^X" done-with-it; print READY'
while zpty -r asked line; do [[ $line == READY* ]] && break; done
zpty -w -n asked "$2"$'\t'$'\x18'
while zpty -r asked line; do
  line=${line%%[[:cntrl:]]#}
  [[ $line == *DONE* ]] && break
  [[ $line == *OFFERED:* ]] && print -r -- ${line##*OFFERED:}
done
zpty -d asked
