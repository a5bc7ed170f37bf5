//! Configuration files, and the search for the file.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

use super::{Config, search::find_from, toml_value::TomlError};
use crate::settings::Setting;
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
    assert_eq!(config.loader, Some(core_relo_verdict::loaders::LoaderKind::Cilium));
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
            "2:3: unknown key `alow`, expected `allow`, `check`, `kernels`, `mirrors` or `settings`; did you mean `allow`?",
        ),
        (
            "[[allow]]\nobject = 'a'\n  porgram = 'b'\n",
            "3:3: unknown key `porgram`, expected `object`, `program`, `kernel`, `kind` or `reason`; did you mean `program`?",
        ),
        ("[[allow]]\nprogram = 1\n", "2:11: `program` is an integer, expected a string"),
        ("\"ä\" = 1", "1:1: unknown key `ä`, expected `allow`, `check`, `kernels`, `mirrors` or `settings`"),
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
