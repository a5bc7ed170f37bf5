//! `cargo xtask tidy`: conventions that the compiler does not check. Prints every problem before it fails.

mod documents;
mod feature_tables;
mod layers;
mod module_graph;
mod programs;
mod rules;
mod signatures;
mod sources;
mod text;

use crate::system::{Failure, Outcome, output, root};
use crate::{json_schema, prebuilt};
use sources::{Crate, PRODUCT, Source};
use std::path::PathBuf;
use std::process::Command;

/// A file to check.
struct File {
    /// The path, relative to the workspace's root.
    path: PathBuf,
    text: String,
}

pub fn run(args: &[String]) -> Outcome {
    if let Some(other) = args.first() {
        return Err(Failure::Usage(format!("unknown argument `{other}`")));
    }
    let files = files()?;
    let mut problems = Vec::new();
    let mut sources = Vec::new();
    for file in &files {
        text::check_whitespace(file, &mut problems);
        text::check_readme(file, &mut problems);
        let path = file.path.to_string_lossy();
        // Skeletons are generated.
        if path.ends_with(".rs") && !path.ends_with(".skel.rs") {
            text::check_comment_width(file, &mut problems);
            text::check_skips(file, &mut problems);
            match Source::parse(file) {
                Ok(source) => sources.push(source),
                Err(problem) => problems.push(problem),
            }
        }
    }
    for source in &sources {
        text::check_shape(source, &mut problems);
    }
    for dir in PRODUCT {
        let krate = Crate::new(dir, &sources);
        rules::check(&krate, &mut problems);
        layers::check(&krate, &mut problems);
        signatures::check(&krate, &mut problems);
    }
    documents::check_named_tests(&files, &mut problems);
    documents::check_feature_tables(&files, &mut problems);
    problems.extend(programs::check_directives()?);
    problems.extend(prebuilt::problems()?);
    problems.extend(json_schema::problem()?);
    for problem in &problems {
        println!("{problem}");
    }
    println!("tidy: {} files, {} problems", files.len(), problems.len());
    if problems.is_empty() { Ok(()) } else { Err("not tidy".into()) }
}

/// Returns every text file that git tracks or would add.
fn files() -> Outcome<Vec<File>> {
    let mut git = Command::new("git");
    git.current_dir(root()).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let names = output(&mut git).ok_or("git ls-files failed")?;
    let read = |name: &str| {
        let text = String::from_utf8(std::fs::read(root().join(name)).ok()?).ok()?;
        (!text.contains('\0')).then(|| File { path: PathBuf::from(name), text })
    };
    Ok(names
        .split('\0')
        .filter(|name| !name.is_empty() && !name.contains("/seeds/"))
        .filter_map(read)
        .collect())
}
