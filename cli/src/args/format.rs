//! Colours, and the output formats of single commands.

use crate::format::Format;
use clap::ValueEnum;
use core_relo_report::ReportFormat;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

/// The output formats of `check`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckFormat {
    /// For people
    #[default]
    Text,
    /// JSON lines: one object and kernel a line (docs/json.md)
    Json,
    /// SARIF 2.1.0, for annotations of code
    Sarif,
    /// JUnit XML, for test reports
    Junit,
    /// Markdown, for a comment on a pull request
    Markdown,
}

impl CheckFormat {
    /// Returns the format of messages and lines.
    pub(crate) const fn lines(self) -> Format {
        match self {
            Self::Json => Format::Json,
            Self::Text | Self::Sarif | Self::Junit | Self::Markdown => Format::Text,
        }
    }

    /// Returns the format of the report that is printed instead of lines.
    pub(crate) const fn report(self) -> Option<ReportFormat> {
        match self {
            Self::Text | Self::Json => None,
            Self::Sarif => Some(ReportFormat::Sarif),
            Self::Junit => Some(ReportFormat::Junit),
            Self::Markdown => Some(ReportFormat::Markdown),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum BtfDumpFormat {
    /// The notation of `bpftool btf dump`
    #[default]
    #[value(alias = "text")]
    Raw,
    /// JSON lines: one type a line, with bpftool's names
    Json,
    /// A C header for clang -target bpf: vmlinux.h
    C,
}
