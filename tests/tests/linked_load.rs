//! Objects linked by core-relo load with the same programs as objects linked by bpftool, in libbpf and in
//! core-relo.

#[cfg(not(all(feature = "libbpf", target_os = "linux")))]
#[test]
fn linked_objects_load_like_those_of_bpftool() {
    core_relo_test_support::skip!(Libbpf, "built without libbpf (cargo xtask test builds with it)");
}

#[cfg(all(feature = "libbpf", target_os = "linux"))]
mod with_libbpf {
    use core_relo::Endian;
    use core_relo_loader::{Loader, inventory::ProgramInfo, object::Object, static_link::Linker};
    use core_relo_test_support::skip;
    use core_relo_tests::{artifacts, kernel_crashes, libbpf};
    use std::{
        collections::BTreeMap,
        env,
        ffi::OsString,
        fs,
        os::fd::AsFd as _,
        path::{Path, PathBuf},
        process::{self, Command},
    };

    /// Program names. Loaded programs have the length of their translated instructions in bytes.
    type Programs = Vec<(String, Option<u32>)>;

    #[derive(Default)]
    struct Counts {
        loaded: usize,
        /// Linked objects that equal bpftool's byte for byte.
        identical: usize,
        /// Linked objects that the kernel refuses from both loaders.
        refused: usize,
        /// Objects that libbpf loads if core-relo linked them, but not if bpftool did: see
        /// docs/libbpf-differences.md.
        improved: Vec<String>,
        differences: Vec<String>,
    }

    #[test]
    fn linked_objects_load_like_those_of_bpftool() {
        let bpftool = Bpftool::find();
        if bpftool.is_none() {
            skip("linked_load", "no bpftool (BPFTOOL=path): libbpf's linker is used instead");
        }
        let mut counts = Counts::default();
        for paths in programs_of_several_files().into_values().chain(unrelated_pairs()) {
            compare_linked(&mut counts, bpftool.as_ref(), &paths);
            compare_linked(&mut counts, bpftool.as_ref(), &paths.iter().rev().cloned().collect::<Vec<_>>());
        }
        let Counts { loaded, identical, refused, improved, differences } = counts;
        println!(
            "{loaded} linked objects load with the same programs, {identical} equal bpftool's; {refused} do not load"
        );
        improved.iter().for_each(|text| println!("libbpf accepts only core-relo's object: {text}"));
        differences.iter().take(20).for_each(|text| println!("{text}"));
        if loaded == 0 {
            skip!(Root, "libbpf loads nothing here (it needs root)");
        }
        assert!(differences.is_empty());
    }

    fn compare_linked(counts: &mut Counts, bpftool: Option<&Bpftool>, paths: &[PathBuf]) {
        let files: Vec<_> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
        let name = paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" + ");
        let linked = files.iter().try_fold(Linker::new(), |linker, bytes| linker.add("in", bytes));
        let Ok(ours) = linked.and_then(Linker::finish) else { return };
        let slices: Vec<_> = files.iter().map(Vec::as_slice).collect();
        let (theirs, _) = libbpf::with_log(|| match bpftool {
            Some(bpftool) => bpftool.link(paths),
            None => libbpf::link(&slices).ok(),
        });
        let by_core_relo = load(&ours);
        let (by_libbpf, log) = libbpf::with_log(|| load_by_libbpf(&ours));
        let (by_core_relo, by_libbpf) = match (by_core_relo, by_libbpf) {
            (Ok(ours), Ok(theirs)) => (ours, theirs),
            (Err(_), Err(_)) => {
                counts.refused += 1;
                return;
            }
            (Err(error), Ok(_)) => {
                return counts
                    .differences
                    .push(format!("{name}: loaded by libbpf, refused by core-relo: {error}"));
            }
            (Ok(_), Err(errno)) => {
                let last = log.lines().last().unwrap_or_default();
                return counts
                    .differences
                    .push(format!("{name}: loaded by core-relo, refused by libbpf: {errno} {last}"));
            }
        };
        let mut all = vec![("linked and loaded by core-relo", by_core_relo)];
        match theirs {
            Some(theirs) if theirs == ours => counts.identical += 1,
            Some(theirs) => match libbpf::with_log(|| load_by_libbpf(&theirs)) {
                (Ok(programs), _) => {
                    all.push(("linked by bpftool, loaded by libbpf", programs));
                    match load(&theirs) {
                        Ok(programs) => all.push(("linked by bpftool, loaded by core-relo", programs)),
                        Err(error) => counts
                            .differences
                            .push(format!("{name}: core-relo refuses bpftool's object: {error}")),
                    }
                }
                (Err(errno), log) => {
                    let last = log.lines().last().unwrap_or_default();
                    counts.improved.push(format!("{name}: errno {errno}: {last}"));
                }
            },
            // An old bpftool does not link all objects.
            None => counts.improved.push(format!("{name}: bpftool does not link it")),
        }
        for (description, programs) in all {
            if programs != by_libbpf {
                let text = format!(
                    "{name}: {description}: {programs:?}; linked by core-relo, loaded by libbpf: {by_libbpf:?}"
                );
                counts.differences.push(text);
            }
        }
        counts.loaded += 1;
    }

    fn load_by_libbpf(bytes: &[u8]) -> Result<Programs, i32> {
        let opened = libbpf::open(bytes)?;
        opened.load()?;
        Ok(sorted(opened.programs()))
    }

    fn load(bytes: &[u8]) -> Result<Programs, String> {
        let object = Object::parse(bytes).map_err(|e| e.to_string())?;
        let mut loader = Loader::new(&object).name("linked");
        let plan = loader.plan().map_err(|e| e.to_string())?;
        for map in plan.maps().iter().filter(|map| map.pin().is_some()) {
            loader.map_mut(map.name()).pin = Some(None);
        }
        let loaded = loader.load().map_err(|e| e.to_string())?;
        let names = object.programs().iter().filter(|program| !program.is_subprogram);
        let mut programs: BTreeMap<_, _> =
            names.map(|program| (String::from_utf8_lossy(program.name()).into_owned(), None)).collect();
        for program in loaded.programs() {
            let info = ProgramInfo::query(&program.as_fd()).map_err(|e| e.to_string())?;
            programs.insert(program.name().to_owned(), Some(info.xlated_prog_len));
        }
        Ok(programs.into_iter().collect())
    }

    fn sorted(mut programs: Programs) -> Programs {
        programs.sort();
        programs
    }

    /// Groups the files of one program, for example `link/calls_a.bpf.o` and `link/calls_b.bpf.o`, by
    /// directory and by the name before the last `_`.
    fn programs_of_several_files() -> BTreeMap<PathBuf, Vec<PathBuf>> {
        let mut groups: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for path in native_objects().into_iter().filter(|path| is_in(path, "link")) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if let Some((group, _)) = name.rsplit_once('_') {
                groups.entry(path.with_file_name(group)).or_default().push(path);
            }
        }
        groups
    }

    /// Returns pairs of unrelated objects.
    fn unrelated_pairs() -> Vec<Vec<PathBuf>> {
        let alone: Vec<_> = native_objects().into_iter().filter(|path| !is_in(path, "link")).collect();
        alone.windows(2).map(<[PathBuf]>::to_vec).collect()
    }

    fn native_objects() -> Vec<PathBuf> {
        let is_native = |path: &PathBuf| {
            let bytes = fs::read(path).unwrap();
            Object::parse(&bytes).is_ok_and(|object| object.endian() == Endian::native())
        };
        let all = artifacts::objects().into_iter().filter(|path| kernel_crashes::may_be_loaded(path));
        all.filter(is_native).collect()
    }

    fn is_in(path: &Path, dir: &str) -> bool {
        path.parent().is_some_and(|parent| parent.ends_with(dir))
    }

    /// The bpftool command, with a directory for its output.
    struct Bpftool {
        program: OsString,
        dir: PathBuf,
    }

    impl Bpftool {
        /// Finds the command named by `BPFTOOL`, or bpftool in `PATH`.
        fn find() -> Option<Self> {
            let program = env::var_os("BPFTOOL").unwrap_or_else(|| "bpftool".into());
            let output = Command::new(&program).arg("version").output().ok()?;
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            println!("{}", text.lines().next().filter(|_| output.status.success())?);
            let dir = env::temp_dir().join(format!("core-relo-linked-{}", process::id()));
            fs::create_dir_all(&dir).unwrap();
            Some(Self { program, dir })
        }

        fn link(&self, paths: &[PathBuf]) -> Option<Vec<u8>> {
            let out = self.dir.join("linked.o");
            let linked = Command::new(&self.program).args(["gen", "object"]).arg(&out).args(paths).output();
            linked.unwrap().status.success().then(|| fs::read(&out).unwrap())
        }
    }

    impl Drop for Bpftool {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.dir);
        }
    }
}
