//! `cargo xtask progs`: builds the test objects, or renews the committed ones.

use core_relo_test_support::OLDEST_CLANG;

use crate::compilers::{self, Compiler};
use crate::install;
use crate::system::{Failure, Outcome, progs_dir};
use crate::{compile, prebuilt};

/// Parses the arguments and builds the objects.
pub fn run(args: &[String]) -> Outcome {
    let mut compilers = Vec::new();
    let mut renew_prebuilt = false;
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--clang" => {
                let path = words.next().ok_or_else(|| Failure::Usage("--clang needs a path".to_owned()))?;
                let file = crate::system::find(path).ok_or_else(|| format!("{path}: no such compiler"))?;
                let found = Compiler::probe(&file).ok_or_else(|| format!("{path}: not a compiler"))?;
                compilers.push(found);
            }
            "--prebuilt" => renew_prebuilt = true,
            other => return Err(Failure::Usage(format!("unknown argument `{other}`"))),
        }
    }
    if compilers.is_empty() {
        compilers = compilers_or_install(true);
    }
    if compilers.is_empty() {
        return Err(format!("neither clang >= {} nor bpf-gcc found", OLDEST_CLANG).into());
    }
    if renew_prebuilt {
        return prebuilt::renew(&compilers);
    }
    for skip in compile::build(&compilers, &progs_dir())? {
        println!("SKIP {skip}");
    }
    Ok(())
}

/// Returns the compilers on this machine. Installs clang if there is none and `may_install` is set.
pub fn compilers_or_install(may_install: bool) -> Vec<Compiler> {
    let found = compilers::find_all();
    if found.iter().any(|compiler| compiler.family == "clang") || !may_install {
        return found;
    }
    eprintln!("no clang >= {} found", OLDEST_CLANG);
    install::clang();
    compilers::find_all()
}
