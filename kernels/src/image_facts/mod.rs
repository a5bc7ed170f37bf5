//! Facts about a kernel that its image contains besides the BTF, or that files beside the image contain.
//!
//! | file | contents |
//! |---|---|
//! | `fact` | a fact and its origin |
//! | `banner` | the version: `Linux version 6.1.0-50-amd64 …` |
//! | `embedded_config` | the configuration (`CONFIG_IKCONFIG`) |
//! | `symbol_table` | the symbols of an ELF |
//! | `neighbours` | the files `config-R`, `System.map-R`, `version-R` and `distribution-R` beside `vmlinuz-R` or `R.btf` |
//!
//! An image that contains no fact, or a broken one, is no error: the verdict that needs the fact is unknown.

mod banner;
mod embedded_config;
mod fact;
mod neighbours;
mod symbol_table;

use crate::{
    boot_image,
    compression::budget::Budget,
    elf_sections::{ReadPart, SHT_NOTE, Sections},
    file::InputFile,
    limits::MAX_FACT_SECTION_BYTES,
};
use banner::{find_banner, parse_banner};
use core_relo_loader::target::archive::build_id;
use core_relo_verdict::kernel::{DistributionKernel, KernelVersion, WantedFacts};
pub use fact::ImageFact;
use std::{path::Path, sync::Arc};

/// The facts that an image and the files beside it contain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImageFacts {
    /// The release, as `uname -r` prints it.
    pub release: Option<String>,
    /// The version string, as `uname -v` prints it.
    pub version_string: Option<String>,
    /// The build id, in hexadecimal digits.
    pub build_id: Option<String>,
    /// The version, with the number of the stable release.
    pub version: Option<ImageFact<KernelVersion>>,
    /// The text of the configuration.
    pub kconfig: Option<ImageFact<Arc<str>>>,
    /// The symbols, in the form of `System.map`.
    pub symbols: Option<ImageFact<Arc<str>>>,
    /// The package of a distribution that the kernel is from.
    pub distribution: Option<DistributionKernel>,
    /// Facts that are there and cannot be read.
    pub warnings: Vec<String>,
}

impl ImageFacts {
    /// Finds the version in the header of a boot image, which is not compressed.
    pub(crate) fn from_boot_header(image: &[u8], wanted: WantedFacts) -> Self {
        let mut facts = Self::default();
        if wanted.version_and_kconfig
            && let Some(text) = boot_image::kernel_version(image)
            && let Some(banner) = parse_banner(text)
        {
            facts.release = Some(banner.release);
            facts.version_string = banner.version_string;
            facts.version = banner.version.map(|version| ImageFact::new(version, "header of the boot image"));
        }
        facts
    }

    /// Finds the facts in an image that is not compressed: an ELF, or an image without sections.
    #[expect(clippy::disallowed_methods, reason = "an ELF without `.rodata` contains no facts")]
    pub(crate) fn from_image(image: &[u8], budget: &Budget, wanted: WantedFacts) -> Self {
        if !wanted.version_and_kconfig && !wanted.symbols {
            return Self::default();
        }
        match Sections::read(&image) {
            Some(sections) => {
                // The sections are in memory already.
                let sections = (&sections, MAX_FACT_SECTION_BYTES);
                Self::from_sections(sections, &image, budget, wanted).unwrap_or_default()
            }
            None => {
                let mut facts = Self::default();
                facts.search(image, budget, wanted);
                facts
            }
        }
    }

    /// Finds the facts in the sections of an ELF file, without reading the rest of the file.
    #[expect(clippy::disallowed_methods, reason = "an ELF without `.rodata` contains no facts")]
    pub(crate) fn from_elf_file(input: &InputFile<'_>, budget: &Budget, wanted: WantedFacts) -> Self {
        if !wanted.version_and_kconfig && !wanted.symbols {
            return Self::default();
        }
        let sections = Sections::read_file(input);
        let max_bytes = budget.remaining().min(MAX_FACT_SECTION_BYTES);
        let facts =
            sections.and_then(|sections| Self::from_sections((&sections, max_bytes), input, budget, wanted));
        facts.unwrap_or_default()
    }

    /// Finds the facts in the sections of an ELF, each of at most `max_bytes`. Returns `None` if the ELF has
    /// no `.rodata`.
    fn from_sections<'d>(
        (sections, max_bytes): (&Sections<'d>, u64),
        elf: &impl ReadPart<'d>,
        budget: &Budget,
        wanted: WantedFacts,
    ) -> Option<Self> {
        let mut facts = Self::default();
        let constants = sections.find_data(b".rodata", max_bytes)??;
        facts.search(&elf.read_part(constants.offset, constants.len)?, budget, wanted);
        if wanted.version_and_kconfig {
            let notes = sections.find_kind(b".notes", SHT_NOTE, max_bytes).flatten();
            let notes = notes.and_then(|notes| elf.read_part(notes.offset, notes.len));
            facts.build_id = notes.and_then(|notes| build_id(&notes, sections.endian()));
        }
        // The banner tells a kernel from other files.
        if wanted.symbols && facts.release.is_some() {
            let symbols = symbol_table::read(sections, elf, max_bytes);
            facts.symbols = symbols.map(|text| ImageFact::new(text, "symbol table of the image"));
        }
        Some(facts)
    }

    /// Searches bytes for the version and the configuration.
    fn search(&mut self, bytes: &[u8], budget: &Budget, wanted: WantedFacts) {
        let Some(banner) = find_banner(bytes) else { return };
        self.release = Some(banner.release);
        self.version_string = banner.version_string;
        self.version = banner.version.map(|version| ImageFact::new(version, "banner of the image"));
        if !wanted.version_and_kconfig {
            return;
        }
        match embedded_config::find(bytes, budget) {
            Ok(text) => self.kconfig = text.map(|text| ImageFact::new(text, "configuration in the image")),
            Err(e) => self.warnings.push(format!("the configuration in the image cannot be read: {e}")),
        }
    }

    /// Adds the facts of an outer layer, such as the header of a boot image, where this image has none.
    pub(crate) fn or_else(mut self, outer: Self) -> Self {
        self.release = self.release.or(outer.release);
        self.version_string = self.version_string.or(outer.version_string);
        self.build_id = self.build_id.or(outer.build_id);
        self.version = self.version.or(outer.version);
        self.kconfig = self.kconfig.or(outer.kconfig);
        self.symbols = self.symbols.or(outer.symbols);
        self.distribution = self.distribution.or(outer.distribution);
        self.warnings.extend(outer.warnings);
        self
    }

    /// Adds the configuration in a text, if the image has none.
    pub(crate) fn with_kconfig(mut self, text: String, origin: String) -> Self {
        if self.kconfig.is_none() {
            self.kconfig = neighbours::kconfig_fact(text, origin, &mut self.warnings);
        }
        self
    }

    /// Adds the symbols in a text, if the image has none.
    pub(crate) fn with_symbols(mut self, text: String, origin: String) -> Self {
        self.symbols = self.symbols.or_else(|| neighbours::symbols_fact(text, origin));
        self
    }

    /// Adds the facts of the files beside an image, where the image itself has none.
    pub(crate) fn with_neighbours(mut self, image: &Path, wanted: WantedFacts) -> Self {
        neighbours::read_distribution(image, &mut self);
        if wanted.version_and_kconfig && self.version.is_none() && self.release.is_none() {
            neighbours::read_version(image, &mut self);
        }
        if wanted.version_and_kconfig && self.kconfig.is_none() {
            self.kconfig = neighbours::read_kconfig(image, &mut self.warnings);
        }
        if wanted.symbols && self.symbols.is_none() {
            self.symbols = neighbours::read_symbols(image, &mut self.warnings);
        }
        self
    }
}

/// Returns the text of the file `version-R` for a kernel: its banner. Returns `None` if the version that the
/// text shows would not be that of the facts.
#[cfg(feature = "fetch")]
pub(crate) fn version_text(facts: &ImageFacts) -> Option<String> {
    let (release, build) = (facts.release.as_ref()?, facts.version_string.as_ref()?);
    let text = format!("Linux version {release} () {build}\n");
    let banner = find_banner(text.as_bytes())?;
    (banner.version.is_some() && banner.version == facts.version.as_ref().map(|fact| fact.value))
        .then_some(text)
}

/// Returns whether files beside an image may contain facts about the kernel.
pub(crate) fn has_neighbours(image: &Path) -> bool {
    neighbours::exist(image)
}
