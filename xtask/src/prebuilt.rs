//! The committed objects in `bpf-progs/prebuilt/` and `loader/examples/prebuilt/`, and the manifests with the hashes of their
//! sources.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cases;
use crate::compile;
use crate::compilers::{Compiler, Order};
use crate::system::{Outcome, files_below, find, output, root};

/// The folder of committed objects, below that of their sources.
const FOLDER: &str = "prebuilt";

/// The compiler that built the committed objects.
const COMPILER: &str = "clang-19";

/// The loader's examples. Their programs are not test cases and include no other files.
const EXAMPLES: &str = "loader/examples";

/// Rebuilds the committed objects and writes their manifests.
pub fn renew(compilers: &[Compiler]) -> Outcome {
    let compiler = compilers
        .iter()
        .find(|compiler| compiler.name() == COMPILER)
        .ok_or_else(|| format!("the committed objects are made with {COMPILER}, which is not here"))?;
    let work = root().join("target/prebuilt");
    let _ = std::fs::remove_dir_all(&work);
    for skip in compile::build(std::slice::from_ref(compiler), &work)? {
        println!("SKIP {skip}");
    }
    let built = work.join(COMPILER);
    take(&built, &cases::dir())?;
    let built = work.join("examples");
    for source in example_sources() {
        for order in Order::BOTH {
            let object = built.join(example_object(&source, order));
            std::fs::create_dir_all(object.parent().unwrap_or(&built))
                .map_err(|why| format!("{}: {why}", object.display()))?;
            let mut command = compiler.command(order, &examples());
            command.arg(&source).arg("-o").arg(&object);
            output(&mut command).ok_or_else(|| format!("{}: does not compile", source.display()))?;
        }
    }
    take(&built, &examples())
}

/// Replaces the committed objects of the sources in `folder` by the ones just built.
fn take(built: &Path, folder: &Path) -> Outcome {
    let dir = folder.join(FOLDER);
    let _ = std::fs::remove_dir_all(&dir);
    let mut bytes = 0;
    for object in files_below(built) {
        let to = dir.join(object.strip_prefix(built).unwrap_or(&object));
        strip(&object)?;
        let data = std::fs::read(&object).map_err(|why| format!("{}: {why}", object.display()))?;
        bytes += data.len();
        write(&to, &data)?;
    }
    write(&dir.join("MANIFEST"), manifest(folder)?.as_bytes())?;
    println!("prebuilt: {bytes} bytes by {COMPILER} in {}", dir.display());
    Ok(())
}

/// Returns the problems with the committed objects: changed sources, missing objects, left-over objects.
pub fn problems() -> Outcome<Vec<String>> {
    let mut problems = Vec::new();
    for folder in [cases::dir(), examples()] {
        changes(&folder, &mut problems)?;
    }
    let cases = cases::read_all()?;
    let of_cases = cases.iter().flat_map(|case| {
        Order::BOTH.map(|order| cases::dir().join(FOLDER).join(order.folder()).join(case.program.object()))
    });
    let sources = example_sources();
    let of_examples = sources.iter().flat_map(|source| {
        Order::BOTH.map(|order| examples().join(FOLDER).join(example_object(source, order)))
    });
    for object in of_cases.chain(of_examples).filter(|object| !object.is_file()) {
        problems.push(format!("{}: missing", object.strip_prefix(root()).unwrap_or(&object).display()));
    }
    Ok(problems)
}

/// Compares the sources in a folder with the manifest of its objects and returns the differences.
fn changes(folder: &Path, problems: &mut Vec<String>) -> Outcome {
    let shown = folder.strip_prefix(root()).unwrap_or(folder).display();
    let committed = std::fs::read_to_string(folder.join(FOLDER).join("MANIFEST")).unwrap_or_default();
    let now = manifest(folder)?;
    let (old, new): (Vec<_>, Vec<_>) = (committed.lines().collect(), now.lines().collect());
    for line in new.iter().filter(|line| !old.contains(line)) {
        let file = line.split_whitespace().last().unwrap_or_default();
        problems
            .push(format!("{shown}/{file}: changed since prebuilt/ was made (cargo xtask progs --prebuilt)"));
    }
    for line in old.iter().filter(|line| !new.contains(line)) {
        let file = line.split_whitespace().last().unwrap_or_default();
        if !folder.join(file).exists() {
            problems.push(format!("{shown}/{file}: in prebuilt/MANIFEST but gone"));
        }
    }
    Ok(())
}

/// Returns the text of a manifest: a line per source, with its hash and path.
fn manifest(folder: &Path) -> Outcome<String> {
    let mut text = String::new();
    for file in files_below(folder) {
        let path = file.strip_prefix(folder).unwrap_or(&file);
        if path.starts_with(FOLDER) || !path.extension().is_some_and(|ext| ext == "c" || ext == "h") {
            continue;
        }
        let data = std::fs::read(&file).map_err(|why| format!("{}: {why}", file.display()))?;
        let _ = writeln!(text, "{:016x} {}", hash(&data), path.display());
    }
    Ok(text)
}

fn examples() -> PathBuf {
    root().join(EXAMPLES)
}

/// Returns the paths of the examples' programs, relative to their folder.
fn example_sources() -> Vec<PathBuf> {
    let folder = examples();
    let files = files_below(&folder).into_iter();
    let sources = files.filter(|file| file.to_string_lossy().ends_with(".bpf.c"));
    sources.filter_map(|file| Some(file.strip_prefix(&folder).ok()?.to_path_buf())).collect()
}

fn example_object(source: &Path, order: Order) -> PathBuf {
    Path::new(order.folder()).join(source.with_extension("o"))
}

fn write(path: &Path, data: &[u8]) -> Outcome {
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(path, data))
        .map_err(|why| format!("{}: {why}", path.display()).into())
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
