//! The loader whose rules decide on verdicts.

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use core_relo_verdict::loaders::LoaderKind;

/// The loader whose rules decide on verdicts
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct LoaderArgs {
    /// Loader whose rules decide whether an object is opened, beside the kernel's: see docs/verdict.md
    /// [default: that of `core-relo.toml`, or else libbpf]
    #[arg(long, value_name = "LOADER", value_parser = parser())]
    pub(crate) loader: Option<LoaderKind>,
}

fn parser() -> impl TypedValueParser<Value = LoaderKind> {
    let words = LoaderKind::ALL.iter().map(|loader| loader.word());
    PossibleValuesParser::new(words).try_map(|word| LoaderKind::from_word(&word).ok_or("no known loader"))
}
