//! The loader whose rules decide on verdicts.

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use core_relo_verdict::loaders::Loader;

/// The loader whose rules decide on verdicts
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct LoaderArgs {
    /// Loader whose rules decide whether an object is opened, beside the kernel's: see docs/verdict.md
    /// [default: that of `core-relo.toml`, or else libbpf]
    #[arg(long, value_name = "LOADER", value_parser = parser())]
    pub(crate) loader: Option<Loader>,
}

fn parser() -> impl TypedValueParser<Value = Loader> {
    let words = Loader::ALL.iter().map(|loader| loader.word());
    PossibleValuesParser::new(words).try_map(|word| Loader::from_word(&word).ok_or("no known loader"))
}
