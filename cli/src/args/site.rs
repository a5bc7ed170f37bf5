//! The arguments of `site`.

use crate::{args::loader::LoaderArgs, input::kernel_args::KernelArgs, policy::ConfigArgs};
use clap::{Args, ValueHint};
use std::path::PathBuf;

pub(crate) const SITE_HELP: &str = "Examples:
  core-relo site -o public/                              the kernels of [kernels] in core-relo.toml
  core-relo site -o public/ --kernels debian:12 --kernels debian:13
  core-relo site -o public/ --btf kernels/
  python3 -m http.server --directory public/             then open http://127.0.0.1:8000/

The page checks BPF objects in the browser, as `check` does: nothing is uploaded. It consists of static files, which any web server can
serve; browsers do not run it from `file:`. The names of fetched kernels and of files are part of the page, directories are not.
DIR must be empty, or have an earlier page. Its kernels that are not named again are removed.
The module of the page, core-relo-web.wasm, is part of release archives. In a clone, `cargo xtask site` builds it.
Exit status 0 if the page was written, else 2.";

#[derive(Debug, Args)]
pub(crate) struct SiteArgs {
    /// Directory to write the page to; it is created if need be
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) kernels: KernelArgs,
    /// The module of the page [default: `core-relo-web.wasm` beside this command, or in (../)share/core-relo]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) wasm: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) loader: LoaderArgs,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}
