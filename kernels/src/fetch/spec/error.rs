//! Errors of specifications.

use crate::fetch::distribution::{Architecture, DISTRIBUTIONS, Distribution, DistributionRelease};
use core_relo::{Escaped, explain::nearest_names};
use thiserror::Error;

/// The error of a text that specifies no kernels.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SpecError {
    /// The text has no `:`.
    #[error(
        "`{}` is no specification of kernels, expected DISTRIBUTION:RELEASE, such as debian:12",
        Escaped(spec)
    )]
    NoDistribution {
        /// The text.
        spec: String,
    },
    /// The distribution is unknown.
    #[error("unknown distribution `{}`{}; known: {}", Escaped(name), near_list(near), known.join(", "))]
    UnknownDistribution {
        /// The name.
        name: String,
        /// Names that are similar.
        near: Vec<String>,
        /// The known distributions.
        known: Vec<String>,
    },
    /// The release is unknown.
    #[error("unknown release `{}` of {distribution}{}; known: {}", Escaped(name), near_list(near), known.join(", "))]
    UnknownRelease {
        /// The distribution.
        distribution: &'static str,
        /// The name.
        name: String,
        /// Names that are similar.
        near: Vec<String>,
        /// The known releases.
        known: Vec<String>,
    },
    /// The architecture is unknown.
    #[error("unknown architecture `{}`{}; known: {}", Escaped(name), near_list(near), known.join(", "))]
    UnknownArchitecture {
        /// The name.
        name: String,
        /// Names that are similar.
        near: Vec<String>,
        /// The known architectures.
        known: Vec<String>,
    },
    /// Neither the specification nor this machine has a known architecture.
    #[error("`{spec}` has no architecture, expected one as in {spec}@x86_64")]
    NoArchitecture {
        /// The specification.
        spec: String,
    },
    /// Two slashes have nothing between them.
    #[error("`{}` has an empty word", Escaped(spec))]
    EmptyWord {
        /// The text.
        spec: String,
    },
    /// `since` has no version.
    #[error("`{}`: `{}` has no version", Escaped(spec), Escaped(word))]
    NoVersion {
        /// The text.
        spec: String,
        /// The word.
        word: String,
    },
    /// Two words are versions.
    #[error("`{}`: `{}` is a second version, expected one", Escaped(spec), Escaped(word))]
    TwoKernels {
        /// The text.
        spec: String,
        /// The second version.
        word: String,
    },
    /// The text has a character that no specification has.
    #[error("`{}` has the character {character:?}", Escaped(spec))]
    Character {
        /// The text.
        spec: String,
        /// The character.
        character: char,
    },
    /// The index has no kernel of this flavour.
    #[error("`{spec}`: no flavour `{flavour}`{}; known: {}", near_list(near), known.join(", "))]
    UnknownFlavour {
        /// The specification.
        spec: String,
        /// The flavour.
        flavour: String,
        /// Flavours that are similar.
        near: Vec<String>,
        /// The flavours in the index.
        known: Vec<String>,
    },
    /// The specification selects no kernel.
    #[error("`{spec}` selects none of {kernel_count} kernels{}", versions_list(versions))]
    SelectsNothing {
        /// The specification.
        spec: String,
        /// The number of kernels of this architecture in the index.
        kernel_count: usize,
        /// The versions of Linux of the selected flavour.
        versions: Vec<String>,
    },
}

core_relo::debug_as_message!(SpecError);

impl SpecError {
    pub(super) fn unknown_distribution(name: &str) -> Self {
        let known: Vec<_> = DISTRIBUTIONS.iter().map(|distribution| distribution.name.to_owned()).collect();
        let near = nearest(name, known.iter().map(String::as_str));
        Self::UnknownDistribution { name: name.to_owned(), near, known }
    }

    pub(super) fn unknown_release(distribution: &'static Distribution, name: &str) -> Self {
        let names = distribution.releases.iter().flat_map(|release| [release.number, release.code_name]);
        let known = distribution.releases.iter().map(DistributionRelease::label);
        let near = nearest(name, names);
        Self::UnknownRelease {
            distribution: distribution.name,
            name: name.to_owned(),
            near,
            known: known.collect(),
        }
    }

    pub(super) fn unknown_architecture(name: &str) -> Self {
        let names = Architecture::all().flat_map(|known| [known.machine(), known.debian()]);
        let known = Architecture::all().map(|known| known.machine().to_owned()).collect();
        Self::UnknownArchitecture { name: name.to_owned(), near: nearest(name, names), known }
    }
}

/// Returns the names that are similar to a wanted one, the nearest first.
pub(super) fn nearest<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Vec<String> {
    nearest_names(wanted.as_bytes(), names.map(str::as_bytes))
}

fn near_list(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!("; near: {}", near.join(", ")) }
}

fn versions_list(versions: &[String]) -> String {
    if versions.is_empty() { String::new() } else { format!("; versions: {}", versions.join(", ")) }
}
