//! `cargo xtask miri`: the unit tests of the code without system calls under Miri, where the toolchain has it.
//!
//! The engine and the object crate forbid unsafe code and the loader keeps it in `sys`; Miri looks for undefined behaviour below them, in the crates they
//! use, and for what depends on the machine: alignment, addresses, the width of a pointer.

use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::system::{Failure, Outcome, check, files_below, output, read, root};

/// The loader's module whose tests make no system calls; their objects are made in memory.
const PURE_LOADER: [&str; 1] = ["globals::"];

/// Tests of limits, which need too much work for an interpreter: those that take tenths of a second elsewhere.
const SLOW_ENGINE: [&str; 25] = [
    "a_func_in_a_large_one_refers_to_a_prototype",
    "a_long_chain_of_references_needs_no_stack",
    "a_plan_of_one_question_runs_out_of_steps",
    "a_struct_within_itself_ends",
    "a_tree_becomes_a_struct_for_each_level",
    "any_middle_gives_what_one_pass_finds_or_nothing",
    "circles_of_any_length_become_one_struct",
    "comparisons_that_branch_without_end_are_errors",
    "graphs_that_differ_at_their_ends_only_are_given_up",
    "in_a_large_one",
    "in_sorted_types_all_are_found",
    "it_finds_what_a_search_of_all_types_finds",
    "large_arrays_are_read_to_their_end",
    "many_of_one_name_take_no_longer_than_many_names",
    "long_chains_long_names_and_many_elements_take_steps",
    "members_of_each_type_are_followed_for_themselves",
    "near_the_end_and_away_from_it",
    "nesting_bombs_end_in_an_error",
    "of_many_types_each_is_compared_with_the_next",
    "one_out_of_order_anywhere_is_noticed",
    "steps_are_taken_for_what_others_found_out",
    "types_added_to_sorted_ones_are_noticed_by_samples",
    "what_a_change_makes_of_a_btf_is_the_same_on_the_long_way",
    "what_is_not_validated_lies_within_whatever_it_refers_to",
    "what_takes_few_bytes_and_endless_parts_ends",
];

/// The same in the object crate.
const SLOW_OBJECT: [&str; 8] = [
    "an_image_of_nothing_but_headers_takes_bounded_time",
    "a_definition_that_many_maps_share_is_read_once",
    "a_section_has_no_more_variables_than_everybody_can_read",
    "every_prefix_and_every_changed_byte_is_an_error_or_an_object",
    "functions_that_overlap_are_bounded",
    "long_chains_across_sections_need_no_stack",
    "names_that_overlap_are_not_written_apart_without_end",
    "types_that_many_symbols_share_are_not_compared_without_end",
];

/// Minutes after which the rest of a package's tests is left out, unless `--minutes` says otherwise.
const MINUTES: u64 = 45;

/// The same in `cargo xtask ci`, which has other things to do.
pub const CI_MINUTES: &str = "4";

/// Tests open the committed objects, and hash maps want random numbers.
const FLAGS: &str = "-Zmiri-disable-isolation";

pub fn run(args: &[String]) -> Outcome {
    let minutes = match args {
        [] => MINUTES,
        [flag, minutes] if flag == "--minutes" => {
            minutes.parse().map_err(|_| Failure::Usage(format!("`{minutes}` is no number of minutes")))?
        }
        [other, ..] => return Err(Failure::Usage(format!("unknown argument `{other}`"))),
    };
    // Also where there is no Miri, so that the lists follow the tests' names.
    check_names("core-relo", &SLOW_ENGINE)?;
    check_names("object", &SLOW_OBJECT)?;
    if !is_installed() {
        println!("SKIP miri: not installed (rustup component add --toolchain nightly miri rust-src)");
        return Ok(());
    }
    test("core-relo", &[], &SLOW_ENGINE, minutes)?;
    test("core-relo-object", &[], &SLOW_OBJECT, minutes)?;
    test("core-relo-loader", &PURE_LOADER, &[], minutes)
}

/// Whether the nightly toolchain has Miri. It is not installed here: that would change a toolchain that others may share.
fn is_installed() -> bool {
    output(Command::new("cargo").args(["+nightly", "miri", "--version"])).is_some()
}

/// Fails if one of the names is no function of the package.
fn check_names(package: &str, names: &[&str]) -> Outcome {
    let mut source = String::new();
    for file in files_below(&root().join(package).join("src")) {
        source.push_str(&read(&file)?);
    }
    match names.iter().find(|name| !source.contains(&format!("fn {name}("))) {
        None => Ok(()),
        Some(name) => {
            Err(format!("xtask/src/miri.rs: {package} has no test `{name}`, which is left out").into())
        }
    }
}

/// Runs a package's unit tests whose paths contain one of `filters`, or all, but for those of these names. What has not run after some
/// minutes is skipped.
fn test(package: &str, filters: &[&str], slow: &[&str], minutes: u64) -> Outcome {
    let mut command = Command::new("cargo");
    command
        .current_dir(root())
        .args(["+nightly", "miri", "test", "--lib", "-p", package, "--"])
        .args(filters)
        .args(slow.iter().flat_map(|name| ["--skip", name]));
    command.env("MIRIFLAGS", FLAGS);
    // Of its own process group, so that the interpreter ends with cargo.
    command.process_group(0);
    eprintln!(
        "+ MIRIFLAGS={FLAGS} cargo +nightly miri test --lib -p {package} -- {} (without {} slow tests)",
        filters.join(" "),
        slow.len()
    );
    let cannot_run = |why: std::io::Error| Failure::CannotRun(format!("cargo miri: {why}"));
    let mut child = command.spawn().map_err(cannot_run)?;
    let end = Instant::now() + Duration::from_secs(minutes * 60);
    loop {
        match child.try_wait().map_err(cannot_run)? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(format!("miri: {package}: {status}").into()),
            None if Instant::now() > end => {
                let group = format!("-{}", child.id());
                check(Command::new("kill").args(["-KILL", "--", &group]))?;
                child.wait().map_err(cannot_run)?;
                println!("SKIP miri: {package}: the tests that did not end within {minutes} minutes");
                return Ok(());
            }
            None => thread::sleep(Duration::from_millis(200)),
        }
    }
}
