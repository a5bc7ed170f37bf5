//! The scripts that ask for completions.

use super::VARIABLE;
use clap_complete::env::Shells;
use std::io;

/// A function for bash, which divides words at `=` and `:` and replaces only the last part: `dev:eth0`. The
/// function joins the parts, and removes the parts before the last one from the answers. Versions before 4.4
/// lack `nosort`.
const BASH_WORDS: &str = r#"
_core_relo() {
    local word glue= last=$2
    local -a line=()
    for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
        if [[ $word =~ ^[=:]+$ || ( $glue && $word ) ]] && (( ${#line[@]} > 0 )); then
            line[${#line[@]}-1]+=$word
        else
            line+=("$word")
        fi
        glue=
        if [[ $word =~ ^[=:]+$ ]]; then glue=1; fi
    done
    local -a COMP_WORDS=("${line[@]}")
    local COMP_CWORD=$(( ${#line[@]} - 1 ))
    local whole=${line[COMP_CWORD]}
    [[ $glue ]] || whole=${whole%"$word"}$last
    _clap_complete_core_relo "$1" "$whole" "$3"
    COMPREPLY=("${COMPREPLY[@]#"${whole%"$last"}"}")
}
complete -o nospace -o bashdefault -o nosort -F _core_relo core-relo 2> /dev/null ||
    complete -o nospace -o bashdefault -F _core_relo core-relo
"#;

/// Writes the script for a shell.
pub(crate) fn write_script(shell: &str, out: &mut dyn io::Write) -> io::Result<()> {
    let shells = Shells::builtins();
    let completer = shells.completer(shell).ok_or_else(|| io::Error::other("the shell has no script"))?;
    completer.write_registration(VARIABLE, "core-relo", "core-relo", "core-relo", out)?;
    if shell == "bash" { out.write_all(BASH_WORDS.as_bytes()) } else { Ok(()) }
}
