//! Tests of the completion of values by the shell.

use super::fixture::*;
use core_relo_loader::inventory::ProgramInfo;
use core_relo_test_support::skip;
use std::process::Command;

const COMMAND: &str = env!("CARGO_BIN_EXE_core-relo");

/// Returns the completions of the last word.
pub(super) fn complete(words: &[&str]) -> Vec<String> {
    let output = Command::new(COMMAND)
        .args(["--", "core-relo"])
        .args(words)
        .env("CORE_RELO_COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", words.len().to_string())
        .env("_CLAP_IFS", "\n")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{words:?}: {text}");
    text.lines().map(str::to_owned).collect()
}

/// Returns the completions that are no options.
fn complete_values(line: &str) -> Vec<String> {
    let words: Vec<_> = line.split(' ').collect();
    let mut values = complete(&words);
    values.retain(|value| !value.starts_with('-') && !value.is_empty());
    values
}

#[test]
fn the_shell_completes_ids_and_names() {
    let Some(types) = types() else { return };
    let name = unique("shell");
    let map = typed_map(&types, HASH, &name);
    let id = map_id(&map).to_string();
    for line in
        ["map show ", "map show id ", "map dump --id ", "map lookup ", "map update ", "struct_ops show "]
    {
        assert_eq!(complete_values(line).contains(&id), line.starts_with("map"), "{line}");
    }
    let own = std::slice::from_ref(&name);
    for line in ["map show --name ", "map dump name ", "-j map show name ", "map update --name "] {
        assert_eq!(complete_values(&format!("{line}{name}")), own, "{line}");
    }
    assert!(complete_values(&format!("map update name {name} ")).is_empty(), "a key");
    for line in ["prog show --name ", "struct_ops unregister --name ", "map create /p --name "] {
        assert!(complete_values(&format!("{line}{name}")).is_empty(), "{line}");
    }
    for line in ["iter pin a.o /p --map ", "map create /p --inner-map "] {
        assert!(complete_values(line).contains(&id) && complete_values(line).contains(&name), "{line}");
    }
    assert!(!complete_values("iter pin a.o /p --map 7 ").contains(&id));
    assert!(complete_values("load a.o --reuse-map m=").contains(&format!("m={name}")));
    assert!(complete_values("load a.o --reuse-map ").is_empty());
    assert!(complete_values("prog attach 7 --to map:").contains(&format!("map:{name}")));
}

#[test]
fn the_words_after_an_object_have_their_own_completions() {
    let Some(types) = types() else { return };
    let map = typed_map(&types, HASH, &unique("words"));
    let id = map_id(&map).to_string();
    for line in ["map update 7 ", "map lookup --id 7 ", "map update --name limits ", "link update 3 "] {
        assert!(complete_values(line).is_empty(), "{line}");
    }
    for line in
        ["map update pinned /sys/", "map pin 7 /sys/", "map pin --id 7 /sys/", "map show --pinned /sys/"]
    {
        let paths = complete_values(line);
        assert!(paths.contains(&"/sys/fs/".to_owned()) && !paths.contains(&id), "{line}: {paths:?}");
    }
    let metrics = complete_values("prog profile 7 cycles --duration 1 ");
    assert!(
        metrics.contains(&"instructions".to_owned()) && !metrics.contains(&"cycles".to_owned()),
        "{metrics:?}"
    );
    assert_eq!(complete_values("prog profile --id 7 cyc"), ["cycles"]);
}

#[test]
fn the_shell_completes_tags_and_btfs() {
    let Some(types) = types() else { return };
    let name = unique("tag");
    let program = program(&types, &typed_map(&types, HASH, &name), &name);
    let info = ProgramInfo::query(&program).unwrap();
    let tag: String = info.tag.iter().map(|byte| format!("{byte:02x}")).collect();
    for line in ["prog show --tag ", "prog dump tag ", "prog dump xlated tag ", "prog profile tag "] {
        assert_eq!(complete_values(&format!("{line}{tag}")), [tag.as_str()], "{line}");
    }
    assert!(complete_values("prog dump xlated id ").contains(&info.id.to_string()));
    for line in ["btf show --name vml", "btf show name vml"] {
        assert_eq!(complete_values(line), ["vmlinux"], "{line}");
    }
    for line in ["btf show ", "btf show id ", "btf dump --kernel-id "] {
        assert!(complete_values(line).contains(&"1".to_owned()), "{line}");
    }
}

#[test]
fn words_are_completed_without_the_kernel() {
    assert!(complete(&["prog", "at"]).contains(&"attach".to_owned()));
    assert!(complete_values("check nosuch").is_empty());
    assert!(complete_values("check a.o --kernels debian:1").contains(&"debian:12".to_owned()));
    assert!(complete_values("kernels fetch ubu").contains(&"ubuntu:jammy".to_owned()));
    assert!(complete_values("kernels list debian:12/back").contains(&"debian:12/backports".to_owned()));
    assert_eq!(complete_values("feature trace_fen"), ["trace_fentry", "trace_fentry_multi"]);
    assert!(complete_values("feature probe bpf_lo").contains(&"bpf_loop".to_owned()));
    assert_eq!(complete_values("feature bpf_loop --program-type xd"), ["xdp"]);
    assert_eq!(complete_values("feature --section prog"), ["program_types"]);
    for line in ["prog attach 7 --to ", "prog detach 7 --from "] {
        assert!(complete_values(line).contains(&"cgroup:".to_owned()), "{line}");
    }
    assert_eq!(complete_values("prog attach 7 --to dev:l"), ["dev:lo"]);
    assert_eq!(complete_values("load a.o --attach-to p=dev:l"), ["p=dev:lo"]);
    assert_eq!(complete_values("prog attach 7 --to cgroup:/sys/kerne"), ["cgroup:/sys/kernel/"]);
    for (line, expected) in [("net list l", "lo"), ("net show dev l", "lo"), ("net list lo l", "")] {
        assert_eq!(complete_values(line).concat(), expected, "{line}");
    }
}

/// bash divides words at `=` and `:`, and replaces the last part.
#[test]
fn the_script_for_bash_completes_parts_of_words() {
    for (words, last, expected) in [
        ("prog attach 7 --to d", "d", "dev:"),
        ("prog attach 7 --to dev : l", "l", "lo"),
        ("prog attach 7 --to cpu :", "", "all"),
        ("load a.o --attach-to p = dev : l", "l", "lo"),
        ("load a.o --pin = /sys --attach-to p = dev : l", "l", "lo"),
        ("prog attach 7 --to = cpu :", "", "all"),
        ("feature bpf_loop --program-type = xd", "xd", "xdp"),
        ("feature trace_fentry_", "trace_fentry_", "trace_fentry_multi"),
    ] {
        let count = words.split(' ').count();
        let script = format!(
            "core-relo() {{ '{COMMAND}' \"$@\"; }}; source <(core-relo completions bash) && COMP_WORDS=(core-relo {words}) \
             && COMP_CWORD={count} && _core_relo core-relo '{last}' previous && echo \"${{COMPREPLY[@]}}\""
        );
        match Command::new("bash").args(["--norc", "-c", &script]).output() {
            Err(e) => return skip!("no bash: {e}"),
            Ok(output) => {
                assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{expected}\n"), "{words}")
            }
        }
    }
}
