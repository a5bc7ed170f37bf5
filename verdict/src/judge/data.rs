//! The data that never changes after a load: `.rodata`, and the configuration values in `.kconfig`.

use crate::{
    kernel::{KconfigAnswer, KernelFacts},
    requirements::ObjectNeeds,
};
use core::ops::Range;
use core_relo::Endian;
use core_relo_object::{
    MapIndex,
    link::{ConfigSlot, ConfigType, ExternBinding, MapSource},
    object::DataKind,
};

/// The data of an object's frozen maps on one kernel.
#[derive(Debug)]
pub(super) struct FrozenData<'o> {
    /// The data of each map; `None` for a map whose data may change.
    maps: Vec<Option<&'o [u8]>>,
    kconfig_map: Option<MapIndex>,
    kconfig: Vec<u8>,
    /// The values in `kconfig` that nothing tells, in bytes.
    unknown: Vec<Range<usize>>,
}

impl<'o> FrozenData<'o> {
    pub(super) fn new(needs: &ObjectNeeds<'o, '_>, facts: &KernelFacts<'_>) -> Self {
        let data = |source| match source {
            MapSource::Data(section) if section.kind == DataKind::Rodata => Some(section.bytes),
            _ => None,
        };
        let maps = needs.linker.maps().iter().map(|entry| data(entry.source)).collect();
        let mut frozen =
            Self { maps, kconfig_map: needs.linker.kconfig_map(), kconfig: Vec::new(), unknown: Vec::new() };
        for entry in needs.linker.externs() {
            let ExternBinding::Config(slot) = entry.binding else { continue };
            let name = String::from_utf8_lossy(entry.name);
            frozen.add_value(slot, facts.kconfig(&name), needs.object.endian());
        }
        frozen
    }

    fn add_value(&mut self, slot: ConfigSlot, answer: KconfigAnswer, endian: Endian) {
        let (start, size) = (index(slot.offset), index(slot.size));
        let Some(end) = start.checked_add(size) else { return };
        if self.kconfig.len() < end {
            self.kconfig.resize(end, 0);
        }
        let bytes = match answer {
            // A value that is not set is 0 for a weak extern. A strong extern is a reason of its own.
            KconfigAnswer::NotSet(_) => Some(Vec::new()),
            KconfigAnswer::Value(text, _) => encode(slot.ty, &text, size, endian),
            KconfigAnswer::Unknown(_) => None,
        };
        match (bytes, self.kconfig.get_mut(start..end)) {
            (Some(bytes), Some(place)) => place.iter_mut().zip(bytes).for_each(|(to, from)| *to = from),
            _ => self.unknown.push(start..end),
        }
    }

    /// Returns the frozen data of a map, and the parts of it that are not known.
    pub(super) fn of_map(&self, map: MapIndex) -> Option<(&[u8], &[Range<usize>])> {
        if self.kconfig_map == Some(map) {
            return Some((&self.kconfig, &self.unknown));
        }
        self.maps.get(map.0).copied().flatten().map(|data| (data, &[][..]))
    }
}

/// Encodes a configuration value as libbpf does (`set_kcfg_value_*`). Returns `None` for a value that does not fit its type.
fn encode(ty: ConfigType, text: &str, size: usize, endian: Endian) -> Option<Vec<u8>> {
    let number = match (ty, text) {
        (ConfigType::Text, _) => {
            let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'))?;
            return Some(text.bytes().take(size.saturating_sub(1)).collect());
        }
        (ConfigType::Bool, "y" | "1") | (ConfigType::Tristate, "m") => 1,
        (ConfigType::Bool, "0") | (ConfigType::Bool | ConfigType::Tristate, "n") => 0,
        (ConfigType::Tristate, "y") => 2,
        (ConfigType::Char { .. }, "y" | "m" | "n") => u64::from(*text.as_bytes().first()?),
        (ConfigType::Int { .. } | ConfigType::Char { .. }, _) => parse_number(text)?,
        _ => return None,
    };
    let little = (0..size).scan(number, |rest, _| {
        let byte = u8::try_from(*rest & 0xff).ok()?;
        *rest >>= 8;
        Some(byte)
    });
    let mut bytes: Vec<u8> = little.collect();
    if endian == Endian::Big {
        bytes.reverse();
    }
    Some(bytes)
}

fn parse_number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse::<u64>().ok().or_else(|| text.parse::<i64>().ok().map(i64::cast_unsigned)),
    }
}

fn index(bytes: u32) -> usize {
    core_relo::ByteSize(bytes).index()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configuration_values_are_encoded_as_by_libbpf() {
        let int = ConfigType::Int { signed: false };
        assert_eq!(encode(int, "250", 4, Endian::Little), Some(vec![250, 0, 0, 0]));
        assert_eq!(encode(int, "0x102", 4, Endian::Big), Some(vec![0, 0, 1, 2]));
        assert_eq!(encode(int, "-1", 2, Endian::Little), Some(vec![0xff, 0xff]));
        assert_eq!(encode(ConfigType::Bool, "y", 1, Endian::Little), Some(vec![1]));
        assert_eq!(encode(ConfigType::Bool, "0", 1, Endian::Little), Some(vec![0]), "LINUX_HAS_BPF_COOKIE");
        assert_eq!(encode(ConfigType::Tristate, "y", 4, Endian::Little), Some(vec![2, 0, 0, 0]));
        assert_eq!(encode(ConfigType::Text, "\"abc\"", 3, Endian::Little), Some(b"ab".to_vec()));
        assert_eq!(encode(ConfigType::Bool, "250", 1, Endian::Little), None);
    }
}
