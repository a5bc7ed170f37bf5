//! The fixes that `explain` suggests: each is written into the program without looking, and must change the
//! verdict to `loads`.
//!
//! The programs are in `advice/`. A fix for a line replaces the source line of the reason.
//! `/* DECLARATIONS */` and `/* MAP */` mark the places of declarations and of map attributes.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod common;

use common::{demo, run_in, schema, text};
use core_relo::{Endian, btf::Builder};
use core_relo_loader::{Loader, load_plan::AttachTarget};
use core_relo_test_support::{Clang, Requirement, clang, skip_without};
use core_relo_tests::artifacts;
use serde_json::Value;
use std::{
    fs,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::Arc,
};

/// A test program, and what its first lines say.
struct Case {
    name: &'static str,
    source: String,
    kernel: PathBuf,
    options: Vec<String>,
    dir: tempfile::TempDir,
    clang: &'static Clang,
}

impl Case {
    /// Returns the case. Returns `None`, and reports the reason, if this machine lacks its kernel or clang.
    fn new(name: &'static str) -> Option<Self> {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/advice");
        let source = fs::read_to_string(sources.join(format!("{name}.bpf.c"))).unwrap();
        let directive = |key: &str| source.lines().find_map(|line| line.strip_prefix(&format!("// {key}: ")));
        let dir = tempfile::tempdir().unwrap();
        fs::copy(sources.join("libbpf.h"), dir.path().join("libbpf.h")).unwrap();
        let (version, mut options) = (directive("kernel").unwrap(), Vec::new());
        let Some(clang) = clang() else {
            skip_without(Requirement::Clang, name, "no clang");
            return None;
        };
        let kernel = if version == "4.20" {
            options.extend(["--kernel-version".to_owned(), "4.20".to_owned()]);
            let path = dir.path().join("kernel.btf");
            fs::write(&path, old_kernel()).unwrap();
            path
        } else if version == "implicit argument" {
            let path = dir.path().join("kernel.btf");
            fs::write(&path, kernel_with_implicit_argument()).unwrap();
            path
        } else {
            let Some(kernel) = complete_kernel(version) else {
                skip_without(
                    Requirement::Kernels,
                    name,
                    &format!("no BTF of Linux {version}: `cargo xtask kernels` gets it"),
                );
                return None;
            };
            kernel
        };
        if let Some(lines) = directive("kconfig") {
            let path = dir.path().join("config");
            fs::write(&path, lines).unwrap();
            options.extend(["--kconfig".to_owned(), text(&path).to_owned()]);
        }
        let source = source.clone();
        Some(Self { name, source, kernel, options, dir, clang })
    }

    /// Compiles a version of the program, and runs a command on it.
    fn run(&self, command: &str, source: &str, mcpu: &str, more: &[&str]) -> Vec<Value> {
        let file = self.dir.path().join("prog.bpf.c");
        fs::write(&file, source).unwrap();
        let compiled = self
            .clang
            .command()
            .args(["-target", "bpf", "-g", "-O2", "-Wall", "-Werror", "-Wno-unused-variable", mcpu, "-c"])
            .args(["prog.bpf.c", "-o", "prog.bpf.o"])
            .current_dir(self.dir.path())
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&compiled.stderr);
        assert!(compiled.status.success(), "{}: {errors}\n{source}", self.name);
        let mut args = vec![command, "prog.bpf.o", "--btf", text(&self.kernel), "--format", "json"];
        args.extend(self.options.iter().map(String::as_str).chain(more.iter().copied()));
        run_in(self.dir.path(), args).lines()
    }

    /// Applies every fix of the program's reasons, and returns the places of the fixes.
    fn apply_fixes(&self) -> Vec<String> {
        let lines = self.run("explain", &self.source, "-mcpu=v3", &[]);
        let program = &lines[0];
        schema().check("program of explain", program);
        assert_ne!(program["verdict"], "loads", "{}", self.name);
        let mut places = Vec::new();
        let reasons = program["reasons"].as_array().unwrap();
        // Fixes of one reason are alternatives. Those of other reasons are applied with the first
        // alternative.
        for (index, reason) in reasons.iter().enumerate() {
            schema().check("reason of explain", reason);
            for fix in reason["fixes"].as_array().unwrap() {
                schema().check("fix of explain", fix);
                if fix["language"] == "rust" {
                    check_rust(fix);
                }
                let mut patch = Patch::new(&self.source);
                if !patch.apply(fix) {
                    continue;
                }
                for (_, other) in reasons.iter().enumerate().filter(|(other, _)| *other != index) {
                    let is_same_line = !other["source"].is_null() && other["source"] == reason["source"];
                    let fixes = other["fixes"].as_array().unwrap();
                    let _ = !is_same_line && fixes.iter().any(|fix| patch.apply(fix));
                }
                let options: Vec<_> = patch.options.iter().map(String::as_str).collect();
                let checked = self.run("check", &patch.source, &patch.mcpu, &options);
                let place = fix["applies_to"].as_str().unwrap();
                assert_eq!(checked[0]["verdict"], "loads", "{}: {fix:#}\n{}", self.name, checked[0]);
                places.push(place.to_owned());
            }
        }
        assert!(!places.is_empty(), "{}: no fix in {program:#}", self.name);
        places
    }
}

/// Declares a function of snippets, which proves that they compile, and the snippets as texts.
macro_rules! rust_snippets {
    ($loader:ident, $program:ident: $($code:expr;)*) => {
        #[expect(dead_code, reason = "it only has to compile")]
        fn compile_rust_snippets($loader: &mut Loader<'_, '_>, $program: Arc<OwnedFd>) {
            $($code;)*
        }

        /// The Rust code that fixes may have, with `name` as the name of the program or map.
        const RUST_SNIPPETS: &[&str] = &[$(stringify!($code)),*];
    };
}

rust_snippets! { loader, program:
    loader.program_mut("name").autoload = Some(false);
    loader.program_mut("name").section = Some("kprobe".into());
    loader.program_mut("name").attach_to = Some(AttachTarget::Kernel("function".into()));
    loader.program_mut("name").attach_to = Some(AttachTarget::Program { program: program.into(), function: "function".into() });
    loader.map_mut("name").autocreate = Some(false);
    loader.map_mut("name").max_entries = Some(10240);
    loader.map_mut("name").key_size = Some(4);
    loader.map_mut("name").value_size = Some(8);
    loader.map_mut("name").value_size = Some(1016);
    loader.map_mut("name").programs.insert("name".into(), None);
}

/// Checks that the Rust code of a fix is one of the snippets that compile.
fn check_rust(fix: &Value) {
    let code = fix["code"].as_str().unwrap();
    let name = code.split('"').nth(1).unwrap();
    let code = code.replacen(&format!("\"{name}\""), "\"name\"", 1);
    let compact = |code: &str| code.split_whitespace().collect::<String>();
    let is_same = |snippet: &str| format!("{};", compact(snippet)) == compact(&code);
    assert!(RUST_SNIPPETS.iter().any(|snippet| is_same(snippet)), "{code} is compiled by no test");
}

/// A changed program.
struct Patch {
    source: String,
    mcpu: String,
    options: Vec<String>,
}

impl Patch {
    fn new(source: &str) -> Self {
        Self { source: source.to_owned(), mcpu: "-mcpu=v3".to_owned(), options: Vec::new() }
    }

    /// Applies a fix. Returns `false` if the fix is not for the program's source or for a command.
    fn apply(&mut self, fix: &Value) -> bool {
        let code = fix["code"].as_str().unwrap_or("").to_owned();
        match fix["applies_to"].as_str().unwrap() {
            "line" => {
                let line = usize::try_from(fix["source"]["line"].as_u64().unwrap()).unwrap();
                let mut lines: Vec<_> = self.source.lines().map(str::to_owned).collect();
                // The lines of other reasons must not move.
                lines[line - 1] = code.replace('\n', " ");
                self.source = lines.join("\n") + "\n";
            }
            "section" => {
                let start = self.source.find("SEC(").unwrap();
                let end = start + self.source[start..].find(')').unwrap() + 1;
                self.source.replace_range(start..end, &code);
            }
            "map" => self.source = self.source.replacen("/* MAP */", &code, 1),
            "extern" => {}
            "compiler" => self.mcpu = code,
            "command" => self.options.extend(code.split(' ').map(str::to_owned)),
            _ => return false,
        }
        if let Some(declaration) = fix["declaration"].as_str() {
            // Reasons of one line have the same declaration.
            if !self.source.contains(declaration) {
                // The lines of the reasons must not move: a declaration takes no line of its own.
                let declaration = declaration.replace('\n', " ");
                let with_marker = format!("{declaration} /* DECLARATIONS */");
                self.source = self.source.replacen("/* DECLARATIONS */", &with_marker, 1);
            }
        }
        true
    }
}

/// Returns the complete BTF of a kernel of a version.
fn complete_kernel(version: &str) -> Option<PathBuf> {
    let kernels = artifacts::files(&artifacts::kernels(), ".btf");
    kernels.into_iter().find(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&format!("amd64-{version}.")))
    })
}

/// Returns a kernel from before the 32-bit jumps, as far as the program needs it.
fn old_kernel() -> Vec<u8> {
    let mut b = Builder::new(Endian::Little);
    let long = b.int("unsigned long", 8, 0);
    b.structure("bpf_ctx_convert", 8, &[("BPF_PROG_TYPE_RAW_TRACEPOINT_prog", long, 0)]);
    b.enumeration("bpf_prog_type", 4, &[("BPF_PROG_TYPE_RAW_TRACEPOINT", 17)]);
    b.enumeration("bpf_func_id", 4, &[("BPF_FUNC_map_lookup_elem", 1)]);
    b.enumeration("bpf_map_type", 4, &[("BPF_MAP_TYPE_ARRAY", 2)]);
    b.finish()
}

/// Returns a kernel whose BTF has an argument that the verifier passes.
fn kernel_with_implicit_argument() -> Vec<u8> {
    let mut b = Builder::new(Endian::Little);
    let int = b.int("int", 4, Builder::SIGNED);
    let long = b.int("unsigned long long", 8, 0);
    let aux = b.structure("bpf_prog_aux", 4, &[("id", int, 0)]);
    let aux = b.pointer(aux);
    let proto = b.func_proto(int, &[("id", long), ("node", int), ("aux", aux)]);
    b.func("bpf_task_acquire", proto, 1);
    b.enumeration("bpf_func_id", 4, &[("BPF_FUNC_unspec", 0)]);
    b.finish()
}

/// Applies all fixes of a program, and checks which places they name.
fn check_places(name: &'static str, expected: &[&str]) {
    if let Some(case) = Case::new(name) {
        assert_eq!(case.apply_fixes(), expected, "{name}");
    }
}

#[test]
fn a_renamed_member_is_read_under_its_other_name_or_guarded() {
    check_places("renamed_member", &["line", "line"]);
    check_places("renamed_member_read", &["line", "line"]);
    check_places("moved_member", &["line", "line"]);
}

#[test]
fn a_statement_with_the_address_of_a_missing_member_is_guarded() {
    check_places("renamed_member_address", &["line"]);
}

#[test]
fn an_element_or_nested_member_is_read_where_the_kernel_has_it_or_guarded() {
    check_places("array_element", &["line", "line"]);
    check_places("array_element_read", &["line", "line"]);
    check_places("nested_member", &["line", "line"]);
    check_places("nested_member_address", &["line", "line"]);
}

#[test]
fn reads_of_all_forms_are_guarded() {
    for name in ["bitfield", "union_member", "loop", "call_over_two_lines", "function_member"] {
        check_places(name, &["line"]);
    }
    check_places("field_size", &["line"]);
    // Without a value in the other case, the verifier refuses the use of the variable.
    check_places("read_into_local", &["line"]);
}

/// Otherwise the changed program would be refused for the other element.
#[test]
fn all_that_the_kernel_lacks_of_a_line_is_guarded_at_once() {
    for name in ["two_members", "two_core_reads", "two_addresses", "missing_types"] {
        check_places(name, &["line"]);
    }
    for name in ["one_member_of_two", "one_member_read_twice"] {
        check_places(name, &["line"]);
    }
    check_places("renamed_with_missing", &["line", "line"]);
    // Each is a reason of its own.
    check_places("kfunc_with_member", &["line", "line"]);
    check_places("helper_with_member", &["line", "line"]);
}

#[test]
fn missing_types_and_enumerators_are_guarded() {
    check_places("missing_type", &["line"]);
    check_places("missing_enumerator", &["line"]);
}

#[test]
fn a_missing_helper_is_replaced_by_an_older_one_or_guarded() {
    check_places("older_helper", &["line", "line"]);
    check_places("helper_in_condition", &["line"]);
    check_places("helper_in_statement", &["line"]);
}

#[test]
fn missing_externs_are_declared_weak_and_guarded() {
    check_places("kfunc", &["line"]);
    // A missing kfunc is the only reason, also where the kernel knows no calls of kfuncs: no load reaches the
    // call.
    check_places("kfunc_before_kfuncs", &["line"]);
    check_places("kernel_variable", &["line"]);
    // The first fix calls the function that the kernel has.
    check_places("kfunc_explicit_arguments", &["line", "line"]);
    check_places("kfunc_implicit_arguments", &["line", "line"]);
    check_places("configuration", &["extern", "extern"]);
}

#[test]
fn programs_without_type_or_target_are_left_out_or_attached_elsewhere() {
    check_places("attach_target", &["section", "section", "section", "section"]);
    check_places("program_type", &["section", "section"]);
}

#[test]
fn map_sizes_are_set_in_the_definition_or_by_an_option() {
    check_places("map_size", &["map", "command"]);
    check_places("stack_trace", &["map", "command"]);
    if let Some(case) = Case::new("stack_trace") {
        let lines = case.run("explain", &case.source, "-mcpu=v3", &[]);
        let code = &lines[0]["reasons"][0]["fixes"][0]["code"];
        assert_eq!(code, "__uint(value_size, 127 * sizeof(__u64));");
    }
}

#[test]
fn instructions_of_newer_kernels_are_compiled_for_an_older_set() {
    check_places("instruction", &["compiler"]);
}

/// A guard would skip the code on every kernel.
#[test]
fn advice_on_the_programs_own_types_and_on_wrong_types_of_the_kernel_is_no_guard() {
    let only_fix = |name| {
        let case = Case::new(name)?;
        let lines = case.run("explain", &case.source, "-mcpu=v3", &[]);
        let worst = &lines[0]["reasons"][0];
        let fixes = worst["fixes"].as_array().unwrap();
        assert!(fixes.iter().all(|fix| fix["applies_to"] == "nothing"), "{name}: {fixes:#?}");
        let text = |value: &Value| value["text"].as_str().unwrap().to_owned();
        Some((text(worst), text(&fixes[0])))
    };
    if let Some((_, fix)) = only_fix("own_type") {
        assert!(fix.starts_with("`struct own_value` is the program's own type"), "{fix}");
    }
    if let Some((reason, fix)) = only_fix("implicit_argument") {
        // Older compilers leave out the names of the parameters of a function that is declared only.
        let declarations = "`int bpf_task_acquire(unsigned long long id, int node, struct bpf_prog_aux *aux)`, expected \
                            `int bpf_task_acquire(u64";
        assert!(reason.contains(declarations), "{reason}");
        assert!(fix.contains("implicit argument `aux`"), "{fix}");
    }
}

/// The prototypes have the same text, so that the reason alone does not help.
#[test]
fn a_struct_that_a_kfunc_needs_is_defined() {
    let Some(case) = Case::new("forward_declaration") else { return };
    let lines = case.run("explain", &case.source, "-mcpu=v3", &[]);
    let fixes = lines[0]["reasons"][0]["fixes"].as_array().unwrap();
    let text = fixes[0]["text"].as_str().unwrap();
    assert!(fixes.len() == 1 && text.starts_with("the object only declares `struct cgroup`"), "{text}");
    let defined = case.source.replace("struct cgroup;", "struct cgroup { int any; };");
    assert_eq!(case.run("check", &defined, "-mcpu=v3", &[])[0]["verdict"], "loads");
}

/// A guard alone would skip the call on kernels that have the function with other parameters.
#[test]
fn a_kfunc_with_another_prototype_is_declared_as_the_kernel_has_it() {
    let Some(case) = Case::new("other_prototype") else { return };
    let lines = case.run("explain", &case.source, "-mcpu=v3", &[]);
    let fixes = lines[0]["reasons"][0]["fixes"].as_array().unwrap();
    let code: Vec<_> = fixes.iter().map(|fix| fix["code"].as_str().unwrap()).collect();
    let guarded = "return (bpf_ksym_exists(bpf_task_acquire) ? bpf_task_acquire(1) : 0);";
    assert_eq!(code, ["bpf_ksym_exists(bpf_task_acquire___other)", guarded]);
    let declared =
        "extern int bpf_task_acquire___other(unsigned long long, int, struct bpf_prog_aux *) __ksym __weak;";
    let declaration = fixes[0]["declaration"].as_str().unwrap();
    assert!(declaration.starts_with(declared), "{declaration}");
}

/// A guard would skip the code on every kernel, wherever the program keeps its data.
#[test]
fn advice_on_types_in_the_programs_own_memory_is_no_guard() {
    let Some(case) = Case::new("own_memory") else { return };
    let lines = case.run("explain", &case.source, "-mcpu=v3", &[]);
    let programs: Vec<_> = lines.iter().filter(|line| line["reasons"].is_array()).collect();
    assert_eq!(programs.len(), 3);
    for program in programs {
        let reasons = program["reasons"].as_array().unwrap();
        assert!(!reasons.is_empty(), "{program:#}");
        for reason in reasons {
            let text = reason["fixes"][0]["text"].as_str().unwrap();
            assert!(text.contains("is the program's own type"), "{}: {text}", program["program"]);
        }
    }
}

/// The demo's kernels are reduced, but suffice for members of types. This test needs no other kernels.
#[test]
fn explain_suggests_a_flavour_with_the_types_of_the_kernel() {
    let run = run_in(&demo(), ["explain", "exec.bpf.o", "--btf", "linux-5.10.btf", "--format", "json"]);
    let lines = run.lines();
    let fix = &lines[0]["reasons"][0]["fixes"][0];
    assert_eq!(fix["applies_to"], "line", "{}", run.out);
    let flavour =
        "struct task_struct___other {\n\tlong long state;\n} __attribute__((preserve_access_index));";
    assert_eq!(fix["declaration"], flavour);
    let code = "event->state = (bpf_core_field_exists(struct task_struct, __state) ? task->__state : \
                ((struct task_struct___other *)task)->state);";
    assert_eq!(fix["code"], code);
    assert_eq!(run.exit, 1);
}
