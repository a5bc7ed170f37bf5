//! The committed objects in `bpf-progs/prebuilt/`, and the manifest that tells whether they fit their sources.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cases;
use crate::compilers::{Compiler, Order};
use crate::progs;
use crate::system::{Outcome, files_below, find, output, root};

/// The compiler the committed objects come from.
const COMPILER: &str = "clang-19";

/// Builds the committed objects anew and writes their manifest.
pub fn renew(compilers: &[Compiler]) -> Outcome {
    let compiler = compilers
        .iter()
        .find(|compiler| compiler.name() == COMPILER)
        .ok_or_else(|| format!("the committed objects are made with {COMPILER}, which is not here"))?;
    let work = root().join("target/prebuilt");
    let _ = std::fs::remove_dir_all(&work);
    for skip in progs::build(std::slice::from_ref(compiler), &work)? {
        println!("SKIP {skip}");
    }
    let _ = std::fs::remove_dir_all(dir());
    let built = work.join(COMPILER);
    let mut bytes = 0;
    for object in files_below(&built) {
        let to = dir().join(object.strip_prefix(&built).unwrap_or(&object));
        strip(&object)?;
        let data = std::fs::read(&object).map_err(|why| format!("{}: {why}", object.display()))?;
        bytes += data.len();
        write(&to, &data)?;
    }
    write(&dir().join("MANIFEST"), manifest()?.as_bytes())?;
    println!("prebuilt: {bytes} bytes by {COMPILER} in {}", dir().display());
    Ok(())
}

/// What is wrong with the committed objects: sources that changed since, objects missing or left over.
pub fn problems() -> Outcome<Vec<String>> {
    let mut problems = Vec::new();
    let path = dir().join("MANIFEST");
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    let now = manifest()?;
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let (old, new) = (lines(&committed), lines(&now));
    for line in new.iter().filter(|line| !old.contains(line)) {
        let file = line.split_whitespace().last().unwrap_or_default();
        problems.push(format!(
            "bpf-progs/{file}: changed since prebuilt/ was made (cargo xtask progs --prebuilt)"
        ));
    }
    for line in old.iter().filter(|line| !new.contains(line)) {
        let file = line.split_whitespace().last().unwrap_or_default();
        if !cases::dir().join(file).exists() {
            problems.push(format!("bpf-progs/{file}: in prebuilt/MANIFEST but gone"));
        }
    }
    for case in cases::all()? {
        for order in Order::BOTH {
            let object = dir().join(order.folder()).join(case.program.object());
            if !object.is_file() {
                problems
                    .push(format!("{}: missing", object.strip_prefix(root()).unwrap_or(&object).display()));
            }
        }
    }
    Ok(problems)
}

/// A line per source: its hash and its path.
fn manifest() -> Outcome<String> {
    let mut text = String::new();
    for file in files_below(&cases::dir()) {
        let path = file.strip_prefix(cases::dir()).unwrap_or(&file);
        if path.starts_with("prebuilt") || !path.extension().is_some_and(|ext| ext == "c" || ext == "h") {
            continue;
        }
        let data = std::fs::read(&file).map_err(|why| format!("{}: {why}", file.display()))?;
        let _ = writeln!(text, "{:016x} {}", hash(&data), path.display());
    }
    Ok(text)
}

fn dir() -> PathBuf {
    cases::dir().join("prebuilt")
}

fn write(path: &Path, data: &[u8]) -> Outcome {
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(path, data))
        .map_err(|why| format!("{}: {why}", path.display()).into())
}

/// Drops the .debug sections; .BTF and .BTF.ext stay.
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

/// FNV-1a: tells whether a file changed; it need not resist anybody.
fn hash(data: &[u8]) -> u64 {
    data.iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
