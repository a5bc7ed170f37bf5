//! `site`: writes a page that checks objects in the browser.

mod assets;
mod directory;
mod kernel_files;

use crate::{
    args::site::SiteArgs,
    cmd::kernel_visits::{report_selection, visit_kernels},
    console::{Console, ExitStatus},
    error::{BadInput, CommandResult, escape_path},
    fetched::kernel_paths,
    input::kernel_args::KernelArgs,
    json::site::{SiteKernel, SiteManifest},
    policy::Config,
    text::{line::Line, style},
};
use assets::PageModule;
use core_relo_kernels::{Kernel, KernelSelection, KernelSource, WantedFacts};
use directory::SiteDirectory;
use kernel_files::KernelFiles;

/// The facts that verdicts may need.
const WANTED: WantedFacts =
    WantedFacts { version_and_kconfig: true, symbols: true, refused_attach_types: false };

pub(crate) fn run(console: &mut Console<'_>, args: &SiteArgs) -> CommandResult {
    let config = Config::of_project(&args.config)?;
    let kernels = named_kernels(args, &config)?;
    let module = PageModule::find(args.wasm.as_deref())?;
    let mut directory = SiteDirectory::open(&args.output, &assets::names())?;
    let selection = KernelSelection::new(&kernel_paths(&kernels, &args.config)?);
    report_selection(console, &selection)?;
    let mut written = Vec::new();
    visit_kernels(console, &selection, &mut |_, source, image| {
        let kernel = image?.parse_with_facts(WANTED)?;
        kernel.check_for_verdicts()?;
        written.push(KernelFiles::new(&kernel, name(source, &kernel)).write(&mut directory)?);
        Ok(())
    })?;
    if console.exit != ExitStatus::Success {
        return Ok(());
    }
    if written.is_empty() {
        return Err(BadInput::new("--btf", "no kernel was found").into());
    }
    let page_bytes = assets::write(&mut directory, &module)?;
    let (kernel_bytes, count) = (directory.kernel_bytes(), written.len());
    let manifest = SiteManifest {
        module: module.version,
        loader: config.loader(args.loader.loader).word(),
        kernels: sorted(written),
    };
    directory.finish(&manifest)?;
    let plural = if count == 1 { "" } else { "s" };
    let dir = escape_path(&args.output);
    console.out.line(Line::new().styled(style::GOOD, "written").text(format_args!(
        ": {dir}: page {} KiB, {count} kernel{plural} {} KiB",
        page_bytes.div_ceil(1024),
        kernel_bytes.div_ceil(1024),
    )))?;
    Ok(console.out.line(format_args!("serve it, for example: python3 -m http.server --directory {dir}"))?)
}

/// Returns the kernels that the options name, or else those of the project.
fn named_kernels(args: &SiteArgs, config: &Config) -> Result<KernelArgs, BadInput> {
    let kernels = match args.kernels.names_kernels() {
        true => args.kernels.clone(),
        false => args.kernels.clone().with_specs(&config.kernels.specs),
    };
    if kernels.names_kernels() {
        return Ok(kernels);
    }
    let bad = BadInput::new("kernels", "none is named, and no core-relo.toml has [kernels]");
    Err(bad.help("give --kernels debian:12 or --btf PATH"))
}

/// Returns the name of a kernel on the page: that of a file without its directory.
fn name(source: &KernelSource, kernel: &Kernel) -> String {
    match source {
        KernelSource::Fetched(_) => kernel.name.clone(),
        _ => without_directory(&kernel.name).to_owned(),
    }
}

/// Returns the last part of a path.
fn without_directory(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// Returns a warning about a kernel and the files beside it, without the directories of this machine.
fn without_directories(warning: &str, kernel: &str) -> String {
    let warning = match kernel.rsplit_once('/') {
        Some((directory, _)) => warning.replace(&format!("{directory}/"), ""),
        None => warning.to_owned(),
    };
    // Fetched kernels have names that are no paths, and lie in a directory of the store.
    let words = warning.split(' ');
    let words = words.map(|word| if word.starts_with('/') { without_directory(word) } else { word });
    words.collect::<Vec<_>>().join(" ")
}

/// Sorts kernels by architecture, version and name. Kernels of the same name get a number.
fn sorted(mut kernels: Vec<(SortKey, SiteKernel)>) -> Vec<SiteKernel> {
    kernels.sort_by(|(key, kernel), (other_key, other)| {
        (key, &kernel.facts.name).cmp(&(other_key, &other.facts.name))
    });
    let mut kernels: Vec<_> = kernels.into_iter().map(|(_, kernel)| kernel).collect();
    let names: Vec<_> = kernels.iter().map(|kernel| kernel.facts.name.clone()).collect();
    for (index, kernel) in kernels.iter_mut().enumerate() {
        let earlier = names.iter().take(index).filter(|name| **name == kernel.facts.name).count();
        if earlier > 0 {
            kernel.facts.name = format!("{} ({})", kernel.facts.name, earlier + 1);
        }
    }
    kernels
}

/// The order of kernels: architecture and version.
type SortKey = (Option<String>, Option<core_relo_verdict::kernel::KernelVersion>);
