//! The data that never changes after a load: `.rodata`, and the configuration values in `.kconfig`.

use super::model::{Reason, ReasonKind, Verdict};
use crate::{
    kernel::{Evidence, KconfigAnswer, KernelFacts},
    reach::ConfigData,
    requirements::ObjectNeeds,
};
use alloc::sync::Arc;
use core::ops::Range;
use core_relo::{Endian, Name, explain::text};
use core_relo_object::{
    MapIndex,
    link::{ConfigSlot, ExternBinding, MapSource},
    load_plan::{ConfigValueError, write_config_value},
    object::DataKind,
};

/// The bytes of configuration values that are looked up. Real objects have some hundreds.
const KCONFIG_BYTES: usize = 1 << 20;

/// The data of an object's frozen maps on one kernel.
#[derive(Debug)]
pub(super) struct FrozenData<'o> {
    /// The data of each map; `None` for a map whose data may change.
    maps: Vec<Option<&'o [u8]>>,
    kconfig_map: Option<MapIndex>,
    kconfig: Arc<ConfigData>,
    /// The reasons of values that do not fit their types.
    refused: Vec<Reason>,
}

impl<'o> FrozenData<'o> {
    pub(super) fn new(needs: &'o ObjectNeeds<'o, '_>, facts: &KernelFacts<'_>) -> Self {
        let data = |source| match source {
            MapSource::Data(section) if section.kind == DataKind::Rodata => Some(section.bytes),
            _ => None,
        };
        let user_data = |map| needs.data.get(&map).map(Vec::as_slice);
        let maps = (0..).map(MapIndex).zip(needs.linker.maps());
        let maps =
            maps.map(|(map, entry)| data(entry.source).map(|data| user_data(map).unwrap_or(data))).collect();
        let mut frozen = Self {
            maps,
            kconfig_map: needs.linker.kconfig_map(),
            kconfig: Arc::default(),
            refused: Vec::new(),
        };
        for entry in needs.linker.externs() {
            let ExternBinding::Config(slot) = entry.binding else { continue };
            let name = String::from_utf8_lossy(entry.name);
            frozen.add_value(&name, slot, facts.loaded_kconfig(&name), needs.object.endian());
        }
        frozen
    }

    fn add_value(&mut self, name: &str, slot: ConfigSlot, answer: KconfigAnswer, endian: Endian) {
        let start = index(slot.offset);
        let Some(end) = start.checked_add(index(slot.size)) else { return };
        let range = start..end;
        // Nothing shares the values yet.
        let config = Arc::make_mut(&mut self.kconfig);
        // The values of a hostile object stay unknown.
        if range.end > KCONFIG_BYTES {
            return config.unknown.push(range);
        }
        if config.bytes.len() < range.end {
            config.bytes.resize(range.end, 0);
        }
        match answer {
            // A value that is not set is 0 for a weak extern. A strong extern is a reason of its own.
            KconfigAnswer::NotSet(_) => {}
            KconfigAnswer::Unknown(_) => config.unknown.push(range),
            KconfigAnswer::Value(text, evidence) => {
                let written = write_config_value(&mut config.bytes, name.as_bytes(), slot, &text, endian);
                if let Err(error) = written {
                    let reason = refused_value(name, &error, evidence);
                    self.refused.push(match fitting_declaration(name, &text) {
                        Some(declaration) => reason
                            .with_fix(format!("declare it with a type that the value fits: `{declaration}`")),
                        None => reason,
                    });
                    config.unknown.push(range);
                }
            }
        }
    }

    /// Returns the reasons of configuration values that do not fit their types.
    pub(super) fn refused_values(&self) -> &[Reason] {
        &self.refused
    }

    /// Returns the values of the configuration.
    pub(super) const fn kconfig(&self) -> &Arc<ConfigData> {
        &self.kconfig
    }

    /// Returns the frozen data of a map, and the parts of it that are not known.
    pub(super) fn map_data(&self, map: MapIndex) -> Option<(&[u8], &[Range<usize>])> {
        if self.kconfig_map == Some(map) {
            return Some((&self.kconfig.bytes, &self.kconfig.unknown));
        }
        self.maps.get(map.0).copied().flatten().map(|data| (data, &[][..]))
    }
}

/// Returns the reason of a value that does not fit its type. libbpf refuses the object, also if the extern is
/// weak.
fn refused_value(name: &str, error: &ConfigValueError, evidence: Evidence) -> Reason {
    let shown = text(Name::new(name.as_bytes()).shortened());
    Reason::new(ReasonKind::Kconfig, Verdict::Refused, format!("configuration value {shown}: {error}"))
        .with_evidence(evidence)
}

/// Returns a declaration of an extern with a type that a value fits. `None` if no type does, or the name is
/// no identifier.
fn fitting_declaration(name: &str, value: &str) -> Option<String> {
    let is_plain = name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_');
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_hexdigit());
    let declarator = match value.as_bytes() {
        // The array has room for the NUL, instead of the two quotes.
        [b'"', inner @ .., b'"'] => format!("char {name}[{}]", inner.len().checked_add(1)?),
        [b'"', ..] => return None,
        [b'y' | b'm' | b'n'] => format!("enum libbpf_tristate {name}"),
        _ if value.parse::<i64>().is_ok() => format!("long {name}"),
        _ if value.parse::<u64>().is_ok() => format!("unsigned long {name}"),
        [b'0', b'x' | b'X', ..] if value.len() <= 18 && value.get(2..).is_some_and(is_number) => {
            format!("unsigned long {name}")
        }
        _ => return None,
    };
    is_plain.then(|| format!("extern {declarator} __kconfig;"))
}

fn index(bytes: u32) -> usize {
    core_relo::ByteSize(bytes).index()
}
