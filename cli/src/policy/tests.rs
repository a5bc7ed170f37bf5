//! Configuration files, patterns, the search for the file, and what is left of a verdict.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

use super::{
    AllowEntry, AllowList, Config, KernelNames, entry::PatternError, search::find_from, toml_value::TomlError,
};
use crate::settings::Setting;
use core_relo_verdict::{
    judge::{ObjectVerdict, ProgramVerdict, Reason, ReasonKind, Verdict},
    kernel::KernelVersion,
};
use std::{fs, path::Path};

fn parse(text: &str) -> Result<Config, TomlError> {
    Config::parse("core-relo.toml", text)
}

/// Returns the position and the text of the error in a configuration.
fn error(text: &str) -> String {
    let TomlError { line, column, problem, help } = parse(text).unwrap_err();
    let help = help.map_or_else(String::new, |help| format!("; {help}"));
    format!("{line}:{column}: {problem}{help}")
}

#[test]
fn a_configuration_has_entries_and_settings() {
    let text = "# gaps\n[[allow]]\nobject = \"exec*.o\"\nkind = \"helper\"\nreason = \"old, but fine\"\n\n[[allow]]\n\
                kernel = \"5.10.*\"\nprogram = 'a,b'\n\n[check]\nstrict = true\nloader = 'cilium'\nmax-entries = { stacks = 1024, hex = 0x10 }\n";
    let config = parse(text).unwrap();
    let entries: Vec<_> = config.allow.iter().map(|entry| (entry.to_string(), entry.words())).collect();
    let expected = [
        ("core-relo.toml:2: object=exec*.o,kind=helper", "allowed: old, but fine"),
        ("core-relo.toml:7: program=a,b,kernel=5.10.*", "allowed by core-relo.toml:7"),
    ];
    assert_eq!(entries, expected.map(|(entry, words)| (entry.to_owned(), words.to_owned())));
    let settings: Vec<_> =
        config.settings.iter().flat_map(|group| &group.settings).map(Setting::to_string).collect();
    assert!(config.strict);
    assert_eq!(config.loader, Some(core_relo_verdict::loaders::Loader::Cilium));
    assert_eq!(settings, ["--max-entries hex=16", "--max-entries stacks=1024"]);
    assert_eq!(parse(""), Ok(Config::default()));
    assert_eq!(parse("allow = [{ program = 'p' }]").unwrap().allow.len(), 1);
}

#[test]
fn settings_have_the_words_of_the_options() {
    let text = "[[settings]]\nobject = 'probe*.o'\nset = { pid = 7, name = \"bash\", fast = true, mask = 0xff }\nprogram-type = { p = \"xdp\" }\n\
                attach-target = { q = \"vfs_read\" }\nautoload = { p = false }\nmax-entries = { \"m.inner\" = 4096 }\nkey-size = { m = 4 }\n\
                value-size = { m = 8 }\ninner-map = { o = \"hash:4:8:64\" }\nwithout-map = [\"x\"]\nksym = { s = \"_text+0x10\" }\n";
    let config = parse(text).unwrap();
    let [group] = &*config.settings else { panic!("{config:?}") };
    assert_eq!(group.place.as_deref(), Some("core-relo.toml:1"));
    assert_eq!(group.object.as_ref().map(ToString::to_string).as_deref(), Some("probe*.o"));
    let settings: Vec<_> = group.settings.iter().map(Setting::to_string).collect();
    let expected = "--max-entries m.inner=4096,--key-size m=4,--value-size m=8,--inner-map o=hash:4:8:64,--program-type p=xdp,\
                    --attach-target q=vfs_read,--ksym s=_text+0x10,--set fast=true,--set mask=255,--set name=bash,--set pid=7,\
                    --autoload p=false,--without-map x";
    assert_eq!(settings.join(","), expected);
}

#[test]
fn errors_name_line_and_column() {
    for (text, expected) in [
        ("[[allow]\n", "1:9: unclosed array table, expected `]`"),
        ("[check]\nloader = 'bpftool'\n", "2:10: unknown loader, expected libbpf, core-relo, cilium, aya"),
        (
            "\n[[alow]]\n",
            "2:3: unknown key `alow`, expected `allow`, `check` or `settings`; did you mean `allow`?",
        ),
        (
            "[[allow]]\nobject = 'a'\n  porgram = 'b'\n",
            "3:3: unknown key `porgram`, expected `object`, `program`, `kernel`, `kind` or `reason`; did you mean `program`?",
        ),
        ("[[allow]]\nprogram = 1\n", "2:11: `program` is an integer, expected a string"),
        ("\"ä\" = 1", "1:1: unknown key `ä`, expected `allow`, `check` or `settings`"),
        ("[[settings]]\nmax-entries = { m = 0 }\n", "2:21: `m` is 0, expected a number from 1 to 4294967295"),
        (
            "[[settings]]\ninner-map = { m = 'hash' }\n",
            "2:19: expected TYPE:KEY:VALUE:ENTRIES[:FLAGS], such as hash:4:8:64",
        ),
        (
            "[[settings]]\nset = { x = [1] }\n",
            "2:13: `x` is an array, expected a string, a number or a boolean",
        ),
        ("[[settings]]\nautoload = { p = 1 }\n", "2:18: `p` is an integer, expected `true` or `false`"),
        (
            "[[settings]]\nwithout-map = [1]\n",
            "2:16: `without-map` is an integer, expected a list of strings",
        ),
        (
            "[[settings]]\nobject = ''\n",
            "2:10: the pattern is empty, expected a name, with `*` for any characters and `?` for one character",
        ),
        ("[allow]\nprogram = 'p'\n", "1:1: `allow` is a table, expected tables, each as `[[allow]]`"),
        ("allow = ['ä', 2]\n", "1:10: `allow` is a string, expected tables, each as `[[allow]]`"),
        (
            "[[allow]]\nprogram = ''\n",
            "2:11: the pattern is empty, expected a name, with `*` for any characters and `?` for one character",
        ),
        (
            "[[allow]]\n[[allow]]\nreason = 'x'\n",
            "1:1: the entry has no pattern, and would accept everything; add `object`, `program`, `kernel` or `kind`",
        ),
        ("[check]\nstrict = 'yes'\n", "2:10: `strict` is a string, expected `true` or `false`"),
        ("[check]\nmax-entries = { m = 0 }\n", "2:21: `m` is 0, expected a number from 1 to 4294967295"),
        ("[check.max-entries]\nm = 'x'\n", "2:5: `m` is a string, expected a number from 1 to 4294967295"),
    ] {
        assert_eq!(error(text), expected, "{text}");
    }
    let unknown_kind = error("[[allow]]\nkind = 'helpers'\n");
    assert!(
        unknown_kind.starts_with(
            "2:8: unknown kind `helpers`, expected `loader`, `architecture`, `relocation`, `helper`"
        ),
        "{unknown_kind}"
    );
    assert!(unknown_kind.ends_with("; did you mean `helper`?"), "{unknown_kind}");
    let repeated = error("[check]\nstrict = true\nstrict = true\n");
    assert!(repeated.starts_with("3:1: "), "{repeated}");
    assert!(error(&"[[allow]]\nkind = 'helper'\n".repeat(1001)).starts_with("2001:1: more than 1000 tables"));
    assert!(parse(&"[".repeat(100_000)).is_err() && parse(&format!("a = {}", "[".repeat(100_000))).is_err());
}

/// A value of a wrong type is an error at the value, whatever the key.
#[test]
fn each_key_has_values_of_its_type_only() {
    const VALUES: [&str; 8] = ["'x'", "7", "true", "1.5", "[1]", "['x']", "{ x = 1 }", "1979-05-27"];
    const STRING: &[usize] = &[0];
    for (before, after, accepted) in [
        ("allow = ", "", &[][..]),
        ("check = ", "", &[]),
        ("settings = ", "", &[]),
        ("check.strict = ", "", &[2]),
        ("check.loader = ", "", &[]),
        ("check.max-entries = ", "", &[6]),
        ("check.max-entries = { m = ", " }", &[1]),
        ("allow = [{ object = ", " }]", STRING),
        ("allow = [{ program = ", " }]", STRING),
        ("allow = [{ kernel = ", " }]", STRING),
        ("allow = [{ kind = ", " }]", &[]),
        ("allow = [{ object = 'x', reason = ", " }]", STRING),
        ("settings = [{ object = ", " }]", STRING),
        ("settings = [{ without-map = ", " }]", &[5]),
        ("settings = [{ max-entries = ", " }]", &[6]),
        ("settings = [{ max-entries = { m = ", " } }]", &[1]),
        ("settings = [{ key-size = { m = ", " } }]", &[1]),
        ("settings = [{ value-size = { m = ", " } }]", &[1]),
        ("settings = [{ inner-map = { m = ", " } }]", &[]),
        ("settings = [{ program-type = { p = ", " } }]", STRING),
        ("settings = [{ attach-target = { p = ", " } }]", STRING),
        ("settings = [{ autoload = { p = ", " } }]", &[2]),
        ("settings = [{ set = { v = ", " } }]", &[0, 1, 2, 3]),
        ("settings = [{ ksym = { s = ", " } }]", STRING),
    ] {
        for (index, value) in VALUES.iter().enumerate() {
            let parsed = parse(&format!("\n{before}{value}{after}"));
            assert_eq!(parsed.is_ok(), accepted.contains(&index), "{before}{value}: {parsed:?}");
            let Err(TomlError { line, column, .. }) = parsed else { continue };
            // An element of a list and a key of a table are within the value.
            let columns = before.len() + 1..before.len() + 1 + value.len();
            assert!(line == 2 && columns.contains(&column), "{before}{value}: {line}:{column}");
        }
    }
}

#[test]
fn options_have_the_keys_of_entries() {
    let entry: AllowEntry = "object=exec*.o,kind=helper".parse().unwrap();
    assert_eq!(entry.to_string(), "--allow: object=exec*.o,kind=helper");
    let error = |text: &str| text.parse::<AllowEntry>().unwrap_err();
    assert_eq!(error("exec.o"), PatternError::NoValue("exec.o".to_owned()));
    assert_eq!(error("kind=helper,kind=kfunc"), PatternError::RepeatedKey("kind"));
    assert_eq!(
        error("progam=x").to_string(),
        "unknown key `progam`, expected `object`, `program`, `kernel` or `kind`; did you mean `program`?"
    );
    assert!("kind=".parse::<AllowEntry>().is_err() && "object=".parse::<AllowEntry>().is_err());
}

#[test]
fn the_file_is_found_in_the_repository() {
    let dir = tempfile::tempdir().unwrap();
    let nested = dir.path().join("repository/a/b");
    fs::create_dir_all(&nested).unwrap();
    let write = |path: &str| fs::write(dir.path().join(path), "").unwrap();
    write("core-relo.toml");
    assert_eq!(find_from(&nested), None, "outside of a repository, only the directory itself counts");
    fs::create_dir(dir.path().join("repository/.git")).unwrap();
    assert_eq!(find_from(&nested), None, "the search ends at the root");
    write("repository/core-relo.toml");
    assert_eq!(find_from(&nested), Some(dir.path().join("repository/core-relo.toml")));
    write("repository/a/core-relo.toml");
    assert_eq!(find_from(&nested), Some(dir.path().join("repository/a/core-relo.toml")));
    write("repository/a/b/core-relo.toml");
    assert_eq!(find_from(&nested).as_deref(), Some(Path::new("core-relo.toml")));
}

/// Creates a verdict on two programs of the default load and an optional one.
fn object() -> ObjectVerdict {
    let reason = |kind, verdict| Reason::new(kind, verdict, "text");
    let helper = || reason(ReasonKind::Helper, Verdict::Refused);
    let question = || reason(ReasonKind::Kconfig, Verdict::Unknown);
    ObjectVerdict::new(vec![
        ProgramVerdict::new("first", true, vec![helper(), question()]),
        ProgramVerdict::new("second", true, vec![]),
        ProgramVerdict::new("optional", false, vec![helper()]),
    ])
}

/// Returns the verdict that is left of [`object`], and whether each program has accepted reasons. `None` if
/// none is accepted.
fn left(patterns: &[&str]) -> Option<(Verdict, [bool; 3])> {
    let list = AllowList::new(patterns.iter().map(|pattern| pattern.parse().unwrap()));
    let names = KernelNames {
        name: "k/vmlinuz-6.1",
        release: Some("6.1.0-9-cloud"),
        version: Some(KernelVersion::release(6, 1)),
        is_listed: false,
    };
    let acceptance = list.for_kernel(&names).accept("./build/exec.o", &object())?;
    let unused = list.unused().count();
    assert!(unused < patterns.len(), "an entry accepts the reason");
    Some((acceptance.verdict, [0, 1, 2].map(|index| acceptance.program(index).is_some())))
}

#[test]
fn the_rest_of_a_verdict_counts() {
    assert_eq!(left(&[]), None);
    assert_eq!(left(&["program=second"]), None, "a program without reasons");
    assert_eq!(left(&["kind=helper"]), Some((Verdict::Unknown, [true, false, true])));
    assert_eq!(left(&["program=first"]), Some((Verdict::Loads, [true, false, false])));
    assert_eq!(left(&["kind=kconfig"]), Some((Verdict::Refused, [true, false, false])));
    assert_eq!(
        left(&["program=first,kind=helper", "kind=kconfig"]),
        Some((Verdict::Loads, [true, false, false]))
    );
    assert_eq!(left(&["program=opt*"]), Some((Verdict::Refused, [false, false, true])));
    for matching in
        ["object=exec.o", "object=build/*", "kernel=vmlinuz*", "kernel=k/*", "kernel=*-cloud", "kernel=6.1.0"]
    {
        assert_eq!(left(&[matching]).map(|(verdict, _)| verdict), Some(Verdict::Loads), "{matching}");
    }
    for other in ["object=exec", "object=exec.o,kernel=5.*", "program=none", "kernel=vmlinuz"] {
        assert_eq!(left(&[other]), None, "{other}");
    }
}

#[test]
fn an_object_without_programs_is_accepted_by_its_own_reasons() {
    let mut object = ObjectVerdict::default();
    object.verdict = Verdict::Refused;
    object.reasons = vec![
        Reason::new(ReasonKind::MapType, Verdict::Refused, "text"),
        Reason::new(ReasonKind::MapSize, Verdict::NeedsInput, "text"),
    ];
    let names = KernelNames { name: "k", release: None, version: None, is_listed: false };
    let accept = |pattern: &str| {
        let list = AllowList::new([pattern.parse().unwrap()]);
        let acceptance = list.for_kernel(&names).accept("exec.o", &object);
        acceptance.map(|acceptance| acceptance.verdict)
    };
    assert_eq!(accept("object=exec.o"), Some(Verdict::Loads));
    assert_eq!(accept("kind=map_type"), Some(Verdict::NeedsInput));
    assert_eq!(accept("kind=map_size"), Some(Verdict::Refused));
    assert_eq!((accept("kind=helper"), accept("program=*"), accept("kernel=x")), (None, None, None));
}

#[test]
fn objects_for_another_architecture_are_accepted_on_kernels_that_the_user_did_not_name() {
    let text = "the object is compiled for x86_64, the kernel is for aarch64";
    let other = Reason::new(ReasonKind::Architecture, Verdict::Refused, text);
    let helper = Reason::new(ReasonKind::Helper, Verdict::Refused, "a helper");
    let verdict_left = |is_listed, reasons: &[&Reason]| {
        let reasons = reasons.iter().map(|reason| (*reason).clone()).collect();
        let verdict = ObjectVerdict::new(vec![ProgramVerdict::new("p", true, reasons)]);
        let names = KernelNames { name: "k", release: None, version: None, is_listed };
        let list = AllowList::default();
        assert_eq!(list.unused().count(), 0);
        list.for_kernel(&names).accept("o", &verdict).map(|acceptance| acceptance.verdict)
    };
    assert_eq!(verdict_left(true, &[&other]), Some(Verdict::Loads));
    assert_eq!(verdict_left(true, &[&other, &helper]), Some(Verdict::Refused));
    assert_eq!(verdict_left(false, &[&other]), None);
}
