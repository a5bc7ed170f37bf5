//! Output formats and colours.

use clap::ValueEnum;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Text,
    /// JSON lines: one object a line (docs/json.md)
    Json,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum BtfDumpFormat {
    /// The notation of `bpftool btf dump`
    #[default]
    #[value(alias = "text")]
    Raw,
    /// JSON lines: one type a line, with bpftool's names
    Json,
}
