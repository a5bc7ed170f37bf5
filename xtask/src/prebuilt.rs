//! The committed objects in `bpf-progs/prebuilt/`, `loader/examples/prebuilt/` and `cli/bpf/prebuilt/`, and
//! the manifests with the hashes of their sources.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cases;
use crate::compile;
use crate::compilers::{Compiler, Order};
use crate::system::{Outcome, files_below, find, output, root};

/// The directory of committed objects, below that of their sources.
const DIR: &str = "prebuilt";

/// The compiler that built the committed objects.
const COMPILER: &str = "clang-19";

/// The directories of the loader's examples and of the command's programs. They are not test cases, and
/// include no file but `core_relo.h`.
const OWN_PROGRAMS: [&str; 2] = ["loader/examples", "cli/bpf"];

/// Rebuilds the committed objects and writes their manifests.
pub fn renew(compilers: &[Compiler]) -> Outcome {
    let compiler = compilers
        .iter()
        .find(|compiler| compiler.name() == COMPILER)
        .ok_or_else(|| format!("the committed objects are built with {COMPILER}, which is not installed"))?;
    let work = root().join("target/prebuilt");
    let _ = std::fs::remove_dir_all(&work);
    for skip in compile::build(std::slice::from_ref(compiler), &work)? {
        println!("SKIP {skip}");
    }
    let built = work.join(COMPILER);
    replace_committed(&built, &cases::dir())?;
    OWN_PROGRAMS.into_iter().try_for_each(|dir| renew_own_programs(compiler, &work, dir))
}

/// Rebuilds the objects of a directory of [`OWN_PROGRAMS`] and writes their manifest.
fn renew_own_programs(compiler: &Compiler, work: &Path, dir: &str) -> Outcome {
    let (built, sources) = (work.join(dir), root().join(dir));
    for source in program_sources(&sources) {
        for order in Order::BOTH {
            let object = built.join(object_of(&source, order));
            std::fs::create_dir_all(object.parent().unwrap_or(&built))
                .map_err(|error| format!("{}: {error}", object.display()))?;
            let mut command = compiler.command(order, &sources);
            command.arg(&source).arg("-o").arg(&object);
            output(&mut command).ok_or_else(|| format!("{}: does not compile", source.display()))?;
        }
    }
    replace_committed(&built, &sources)
}

/// Replaces the committed objects of the sources in `sources` by the new objects in `built`.
fn replace_committed(built: &Path, sources: &Path) -> Outcome {
    let dir = sources.join(DIR);
    let _ = std::fs::remove_dir_all(&dir);
    let mut bytes = 0;
    for object in files_below(built) {
        let to = dir.join(object.strip_prefix(built).unwrap_or(&object));
        strip(&object)?;
        let data = std::fs::read(&object).map_err(|error| format!("{}: {error}", object.display()))?;
        bytes += data.len();
        write(&to, &data)?;
    }
    write(&dir.join("MANIFEST"), manifest(sources)?.as_bytes())?;
    println!("prebuilt: {bytes} bytes by {COMPILER} in {}", dir.display());
    Ok(())
}

/// Returns the problems with the committed objects: changed sources, missing objects, left-over objects.
pub fn problems() -> Outcome<Vec<String>> {
    let mut problems = Vec::new();
    let own_programs = OWN_PROGRAMS.map(|dir| root().join(dir));
    find_changes(&cases::dir(), &mut problems)?;
    own_programs.iter().try_for_each(|dir| find_changes(dir, &mut problems))?;
    let cases = cases::read_all()?;
    let of_cases = cases.iter().flat_map(|case| {
        Order::BOTH.map(|order| cases::dir().join(DIR).join(order.dir()).join(case.program.object()))
    });
    let of_own_programs = own_programs.iter().flat_map(|dir| {
        let objects =
            |source: PathBuf| Order::BOTH.map(|order| dir.join(DIR).join(object_of(&source, order)));
        program_sources(dir).into_iter().flat_map(objects).collect::<Vec<_>>()
    });
    for object in of_cases.chain(of_own_programs).filter(|object| !object.is_file()) {
        problems.push(format!("{}: missing", object.strip_prefix(root()).unwrap_or(&object).display()));
    }
    Ok(problems)
}

/// Compares the sources in a directory with the manifest of its objects, and adds the differences to
/// `problems`.
fn find_changes(dir: &Path, problems: &mut Vec<String>) -> Outcome {
    let shown = dir.strip_prefix(root()).unwrap_or(dir).display();
    let committed = std::fs::read_to_string(dir.join(DIR).join("MANIFEST")).unwrap_or_default();
    let now = manifest(dir)?;
    let (old, new): (Vec<_>, Vec<_>) = (committed.lines().collect(), now.lines().collect());
    for line in new.iter().filter(|line| !old.contains(line)) {
        let file = line.split_whitespace().last().unwrap_or_default();
        problems.push(format!(
            "{shown}/{file}: changed since prebuilt/ was built (cargo xtask progs --prebuilt)"
        ));
    }
    for line in old.iter().filter(|line| !new.contains(line)) {
        let file = line.split_whitespace().last().unwrap_or_default();
        if !dir.join(file).exists() {
            problems.push(format!("{shown}/{file}: in prebuilt/MANIFEST, but missing"));
        }
    }
    Ok(())
}

/// Returns the text of a manifest: a line per source, with its hash and path.
fn manifest(dir: &Path) -> Outcome<String> {
    let mut text = String::new();
    for file in files_below(dir) {
        let path = file.strip_prefix(dir).unwrap_or(&file);
        if path.starts_with(DIR) || !path.extension().is_some_and(|ext| ext == "c" || ext == "h") {
            continue;
        }
        let data = std::fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let _ = writeln!(text, "{:016x} {}", hash(&data), path.display());
    }
    Ok(text)
}

/// Returns the paths of the programs in a directory of [`OWN_PROGRAMS`], relative to the directory.
fn program_sources(dir: &Path) -> Vec<PathBuf> {
    let files = files_below(dir).into_iter();
    let sources = files.filter(|file| file.to_string_lossy().ends_with(".bpf.c"));
    sources.filter_map(|file| Some(file.strip_prefix(dir).ok()?.to_path_buf())).collect()
}

fn object_of(source: &Path, order: Order) -> PathBuf {
    Path::new(order.dir()).join(source.with_extension("o"))
}

fn write(path: &Path, data: &[u8]) -> Outcome {
    let dir = path.parent().unwrap_or(path);
    std::fs::create_dir_all(dir)
        .and_then(|()| std::fs::write(path, data))
        .map_err(|error| format!("{}: {error}", path.display()).into())
}

/// Strips the .debug sections. .BTF and .BTF.ext stay.
fn strip(object: &Path) -> Outcome {
    let number = COMPILER.rsplit('-').next().unwrap_or_default();
    let tool = [format!("llvm-strip-{number}"), "llvm-strip".to_owned()]
        .into_iter()
        .find(|name| find(name).is_some());
    let tool = tool.ok_or("no llvm-strip")?;
    output(Command::new(tool).arg("-g").arg(object))
        .map(drop)
        .ok_or_else(|| format!("cannot strip {}", object.display()).into())
}

/// Returns the FNV-1a hash of a file, which detects changes but resists no attacker.
fn hash(data: &[u8]) -> u64 {
    data.iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
