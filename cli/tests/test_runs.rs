//! Tests of `run`: refused test runs. Needs root.
#![allow(clippy::panic, clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod common;

use common::{may_load, prebuilt, run, text};
use std::fs;

/// The kernel has one error for every input that it does not take.
#[test]
fn a_refused_run_names_the_sizes_that_the_kernel_accepts() {
    if !may_load() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("input");
    let help = |object: &str, program: &str, option: &str, bytes: usize| {
        fs::write(&file, vec![0; bytes]).unwrap();
        let shown = run(["run", text(&prebuilt(object)), "--program", program, option, text(&file)]);
        assert_eq!(shown.exit, 2, "{shown:?}");
        shown.err
    };
    let short = help("live/globals.bpf.o", "add", "--data-in", 5);
    // The least packet is an Ethernet header. The largest fits into a page.
    assert!(short.contains("--data-in has 5 bytes, expected 14 to "), "{short}");
    let long = help("live/globals.bpf.o", "add", "--data-in", 300_000);
    assert!(long.contains("--data-in has 300000 bytes, expected 14 to "), "{long}");
    let context = help("live/raw_tp.bpf.o", "enter", "--ctx-in", 200);
    assert!(context.contains("--ctx-in has 200 bytes") && context.contains("at most 96"), "{context}");
    // Another cause is not blamed on the size.
    let data = help("live/raw_tp.bpf.o", "enter", "--data-in", 64);
    assert!(data.contains("does not accept this data") && !data.contains("--ctx-in has"), "{data}");
}

#[test]
fn a_run_relocates_against_the_types_in_a_file_and_zero_extends_enumerators() {
    let (object, types) = (prebuilt("enums/high.bpf.o"), prebuilt("enums/high.same.o"));
    let plan = |option: &[&str]| {
        let args = [&["plan", text(&object), "--btf", text(&types)], option].concat();
        run(args)
    };
    let refused = plan(&[]);
    assert!(refused.exit == 1 && refused.out.contains("libbpf sign-extends"), "{refused:?}");
    assert!(
        refused.err.contains("--zero-extend-enums") && !refused.out.contains("--zero-extend"),
        "{refused:?}"
    );
    let zero_extended = plan(&["--zero-extend-enums"]);
    assert_eq!((zero_extended.exit, zero_extended.out.contains(" error ")), (0, false), "{zero_extended:?}");
    if !may_load() {
        return;
    }
    let against = ["--program", "value", "--relocate-against", text(&types)];
    let run_it = |option: &[&str]| run([&["run", text(&object)], &against[..], option].concat());
    let refused = run_it(&[]);
    let help = "\n  help: --zero-extend-enums relocates";
    assert!(refused.exit == 1 && refused.out.contains(help), "{refused:?}");
    let ran = run_it(&["--zero-extend-enums"]);
    assert!(ran.exit == 0 && ran.out.contains("value returned 0"), "{ran:?}");
}

/// A message names an option only of a command that has it.
#[test]
fn only_commands_with_the_option_name_it() {
    let (object, types) = (prebuilt("enums/high.bpf.o"), prebuilt("enums/high.same.o"));
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let run_it = |words: &str| {
        let words = words.replace("OBJ", text(&object)).replace("KERNEL", text(&types));
        let shown = run(words.replace("OUT", text(&out)).split(' '));
        (shown.exit, shown.out.contains("sign-extend"), format!("{}{}", shown.out, shown.err))
    };
    for words in ["check OBJ --btf KERNEL", "explain OBJ --btf KERNEL"] {
        let (exit, is_explained, text) = run_it(words);
        assert!(exit == 1 && is_explained && !text.contains("--zero-extend"), "{words}: {text}");
    }
    let for_kernel = "gen loader OBJ -o OUT.loader --kernel KERNEL";
    for words in ["patch OBJ --btf KERNEL -o OUT", for_kernel] {
        let (exit, _, text) = run_it(words);
        assert!(exit > 0 && text.contains("--zero-extend-enums relocates"), "{words}: {text}");
        let (exit, _, text) = run_it(&format!("{words} --zero-extend-enums"));
        assert_eq!(exit, 0, "{words}: {text}");
    }
    // The kernel that executes the loader program relocates as libbpf does.
    let (exit, _, text) = run_it("gen loader OBJ -o OUT.loader --zero-extend-enums");
    assert!(exit == 2 && text.contains("--kernel"), "{text}");
}
