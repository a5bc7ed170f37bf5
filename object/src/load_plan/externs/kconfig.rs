//! The values of configuration externs, which are the contents of `.kconfig` (libbpf:
//! `bpf_object__resolve_externs`).

use super::refused::RefusedExterns;
use crate::{
    elf::text,
    features::Feature,
    limits,
    link::externs::{self, ConfigSlot, ConfigType, ExternBinding, ExternEntry},
    load_plan::{
        error::{KernelFact, LoadPlanError, Refusal},
        target_kernel::TargetKernel,
    },
};
use core::num::IntErrorKind;
use core_relo::{ByteOffset, ByteSize, Endian};
use hashbrown::HashMap;

/// Returns the contents of `.kconfig`. Values in `extra` take precedence over the kernel's own configuration.
///
/// Strong externs whose value is missing or unknown are added to `refused`, and are 0 in the contents. A
/// value that does not fit its extern is an error.
pub(in crate::load_plan) fn read_values<'e>(
    externs: &[ExternEntry<'e>],
    kernel: &TargetKernel,
    extra: Option<&str>,
    refused: &mut RefusedExterns<'e>,
) -> Result<Vec<u8>, LoadPlanError> {
    let size = contents_size(externs)?;
    let mut bytes = vec![0u8; ByteSize(size).index()];
    let mut unresolved = HashMap::new();
    let (mut missing, mut invalid) = (Vec::new(), Vec::new());
    for e in externs {
        let ExternBinding::Config(slot) = e.binding else { continue };
        if e.name.starts_with(b"CONFIG_") {
            unresolved.insert(e.name, (e, slot));
            continue;
        }
        match virtual_value(e, kernel) {
            Ok(Some(value)) => {
                let result = set_number(&mut bytes, slot, value);
                invalid.extend(result.err().map(|why| Refusal::new(text(e.name), why)));
            }
            Ok(None) => {}
            Err(refusal) if refusal.missing.is_some() => missing.push((e.name, refusal)),
            Err(refusal) => invalid.push(refusal),
        }
    }
    if !unresolved.is_empty() {
        // Resolves values from the text of a configuration. Returns whether all values are resolved.
        let mut resolve_from = |config: &str| {
            for (name, value) in config.lines().filter_map(assignment) {
                let Some((e, slot)) = unresolved.remove(name.as_bytes()) else { continue };
                if let Err(why) = set(&mut bytes, slot, value) {
                    let why = format!("{why} (the value in the configuration is {value})");
                    invalid.push(Refusal::new(text(e.name), why));
                } else if let Some(room) = room_of_longer_text(slot, value) {
                    log::warn!(
                        "{}: {value} is cut off after {room} bytes, which the variable has room for",
                        text(e.name)
                    );
                }
            }
            unresolved.is_empty()
        };
        if !extra.is_some_and(&mut resolve_from) {
            match kernel.read_kconfig() {
                Ok(config) => {
                    resolve_from(&config);
                }
                Err(e) => {
                    let why = format!("the kernel's configuration cannot be read: {e}");
                    let (weak, strong): (Vec<_>, Vec<_>) =
                        unresolved.drain().partition(|(_, (e, _))| e.is_weak);
                    // libbpf refuses weak externs, too.
                    if let Some(warning) = weak_warning(weak.into_iter().map(|(name, _)| name), &why) {
                        log::warn!("{warning}");
                    }
                    missing.extend(strong.into_iter().map(|(name, _)| {
                        (name, Refusal::for_missing(text(name), why.clone(), KernelFact::Kconfig))
                    }));
                }
            }
        }
        let is_unknown = !kernel.knows_kconfig() && extra.is_none();
        let strong = unresolved.values().filter(|(e, _)| !e.is_weak);
        missing.extend(strong.map(|(e, _)| {
            if is_unknown {
                let why = "the kernel's configuration is unknown";
                return (e.name, Refusal::for_missing(text(e.name), why, KernelFact::Kconfig));
            }
            let why = "the kernel's configuration does not set it: declare it __weak to get 0 instead";
            (e.name, Refusal::new(text(e.name), why))
        }));
    }
    if !invalid.is_empty() {
        invalid.extend(missing.into_iter().map(|(_, refusal)| refusal));
        invalid.sort_by(|a, b| a.name.cmp(&b.name));
        return Err(LoadPlanError::Externs(invalid));
    }
    missing.sort_by_key(|(a, _)| *a);
    for (name, refusal) in missing {
        refused.add_refusal(name, || refusal);
    }
    Ok(bytes)
}

/// Returns the warning about weak externs whose values stay 0, in the order of their names.
fn weak_warning<'e>(names: impl Iterator<Item = &'e [u8]>, why: &str) -> Option<String> {
    let mut names: Vec<_> = names.map(|name| text(name).to_string()).collect();
    names.sort_by(String::cmp);
    let values = match names.len() {
        0 => return None,
        1 => "its value stays",
        _ => "their values stay",
    };
    Some(format!("{}: weak, and {values} 0: {why}", names.join(", ")))
}

/// Returns the size of `.kconfig` in bytes. Refuses a size that is too large.
pub(in crate::load_plan) fn contents_size(externs: &[ExternEntry<'_>]) -> Result<u32, LoadPlanError> {
    let size = externs::config_size(externs)?;
    if u64::from(size) > limits::DATA_BYTES {
        let limit = limits::DATA_BYTES;
        let what = format!("its variables are too large: {size} bytes, expected at most {limit}");
        return Err(LoadPlanError::Map { map: ".kconfig".into(), what: what.into() });
    }
    Ok(size)
}

/// A value of the kernel's configuration that does not fit the extern's type. libbpf refuses the object.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigValueError(String);

core_relo::debug_as_message!(ConfigValueError);

/// Writes a configuration value to the contents of `.kconfig`, in a byte order. `value` is written as in the
/// configuration, such as `y` or `250`. Values of `LINUX_*` are numbers for every type.
pub fn write_config_value(
    bytes: &mut [u8],
    name: &[u8],
    slot: ConfigSlot,
    value: &str,
    endian: Endian,
) -> Result<(), ConfigValueError> {
    let result = match parse_number(value) {
        Ok(number) if name.starts_with(b"LINUX_") => set_number(bytes, slot, number),
        _ => set(bytes, slot, value),
    };
    result.map_err(ConfigValueError)?;
    if endian != Endian::native()
        && slot.ty != ConfigType::Text
        && let Some(written) = slot_bytes(bytes, slot)
    {
        written.reverse();
    }
    Ok(())
}

/// Parses a line `CONFIG_X=value` into name and value.
fn assignment(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("CONFIG_")?;
    line.split_once('=')
}

/// Returns the value of a variable that the loader provides. Returns `None` for an unknown weak variable,
/// which is 0.
fn virtual_value(e: &ExternEntry<'_>, kernel: &TargetKernel) -> Result<Option<u64>, Refusal> {
    match e.name {
        b"LINUX_KERNEL_VERSION" => match kernel.kernel_version {
            0 => Err(Refusal::for_missing(
                text(e.name),
                "the kernel's version is unknown",
                KernelFact::Version,
            )),
            version => Ok(Some(version.into())),
        },
        b"LINUX_HAS_BPF_COOKIE" => Ok(Some(kernel.features.has(Feature::Cookie).into())),
        b"LINUX_HAS_SYSCALL_WRAPPER" => Ok(Some(kernel.features.has(Feature::SyscallWrapper).into())),
        name if name.starts_with(b"LINUX_") && e.is_weak => Ok(None),
        _ => Err(Refusal::new(
            text(e.name),
            "unknown name: expected CONFIG_*, LINUX_KERNEL_VERSION, LINUX_HAS_BPF_COOKIE or LINUX_HAS_SYSCALL_WRAPPER",
        )),
    }
}

/// Sets a variable to a value of the configuration.
fn set(bytes: &mut [u8], slot: ConfigSlot, value: &str) -> Result<(), String> {
    match value.as_bytes().first() {
        Some(letter @ (b'y' | b'n' | b'm')) if value.trim_end().len() == 1 => {
            set_letter(bytes, slot, *letter)
        }
        Some(b'"') => set_text(bytes, slot, value),
        None => Err("it has no value".into()),
        Some(_) => {
            let number = parse_number(value)?;
            if !matches!(slot.ty, ConfigType::Int { .. } | ConfigType::Char { .. }) {
                return Err("its value is a number, but its type is not an integer".into());
            }
            set_number(bytes, slot, number)
        }
    }
}

/// Sets a variable to `y`, `n` or `m` (libbpf: `set_kcfg_value_tri`).
fn set_letter(bytes: &mut [u8], slot: ConfigSlot, letter: u8) -> Result<(), String> {
    match slot.ty {
        ConfigType::Bool if letter == b'm' => {
            Err("the value `m` needs the type enum libbpf_tristate or char".into())
        }
        ConfigType::Bool => put(bytes, slot, u64::from(letter == b'y')),
        ConfigType::Tristate => put(
            bytes,
            slot,
            match letter {
                b'y' => 1,
                b'm' => 2,
                _ => 0,
            },
        ),
        ConfigType::Char { .. } => put(bytes, slot, letter.into()),
        ConfigType::Int { .. } | ConfigType::Text => {
            Err("the values `y`, `m` and `n` need the type bool, enum libbpf_tristate or char".into())
        }
    }
}

/// Sets a variable to a quoted text, truncated to the size of the variable (libbpf: `set_kcfg_value_str`).
fn set_text(bytes: &mut [u8], slot: ConfigSlot, value: &str) -> Result<(), String> {
    if slot.ty != ConfigType::Text {
        return Err("its value is a string, but its type is not an array of char".into());
    }
    let inner = value.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
    let inner = inner.ok_or("its value is a string without a closing `\"`")?;
    let target = slot_bytes(bytes, slot).ok_or("it lies outside of .kconfig")?;
    // The last byte stays 0. An array has at least one element.
    let Some((_, target)) = target.split_last_mut() else { return Ok(()) };
    for (target_byte, byte) in target.iter_mut().zip(inner.bytes()) {
        *target_byte = byte;
    }
    Ok(())
}

/// Returns the number of bytes that a variable has room for, if a quoted text is longer.
fn room_of_longer_text(slot: ConfigSlot, value: &str) -> Option<u32> {
    let room = slot.size.checked_sub(1).filter(|_| slot.ty == ConfigType::Text)?;
    let len = value.len().checked_sub(2)?;
    u32::try_from(len).map_or(true, |len| len > room).then_some(room)
}

/// Sets a variable to a number (libbpf: `set_kcfg_value_num`).
fn set_number(bytes: &mut [u8], slot: ConfigSlot, value: u64) -> Result<(), String> {
    let is_signed = match slot.ty {
        ConfigType::Int { signed } | ConfigType::Char { signed } => signed,
        ConfigType::Bool if value <= 1 => false,
        _ => return Err(format!("its value {value} does not fit its type")),
    };
    let signed_value = value.cast_signed();
    let fits = match (slot.size, is_signed) {
        (1, false) => u8::try_from(value).is_ok(),
        (1, true) => i8::try_from(signed_value).is_ok(),
        (2, false) => u16::try_from(value).is_ok(),
        (2, true) => i16::try_from(signed_value).is_ok(),
        (4, false) => u32::try_from(value).is_ok(),
        (4, true) => i32::try_from(signed_value).is_ok(),
        // An integer of a configuration value has 1, 2, 4 or 8 bytes.
        _ => true,
    };
    if !fits {
        let sign = if is_signed { "a signed" } else { "an unsigned" };
        let unit = if slot.size == 1 { "byte" } else { "bytes" };
        return Err(format!("its value does not fit {sign} integer of {} {unit}", slot.size));
    }
    put(bytes, slot, value)
}

/// Writes a number with the size of the variable, in the machine's byte order.
fn put(bytes: &mut [u8], slot: ConfigSlot, value: u64) -> Result<(), String> {
    let target = slot_bytes(bytes, slot).ok_or("it lies outside of .kconfig")?;
    for (target_byte, byte) in target.iter_mut().zip(Endian::Little.u64_bytes(value)) {
        *target_byte = byte;
    }
    if Endian::native() == Endian::Big {
        target.reverse();
    }
    Ok(())
}

/// Returns the bytes of a variable.
fn slot_bytes(bytes: &mut [u8], slot: ConfigSlot) -> Option<&mut [u8]> {
    let start = ByteOffset(slot.offset).index();
    bytes.get_mut(start..start.checked_add(ByteSize(slot.size).index())?)
}

/// Parses a number like C's `strtoull` with base 0: decimal, `0x…` or octal, with an optional sign.
fn parse_number(text: &str) -> Result<u64, &'static str> {
    let (is_negative, digits) = match text.split_at_checked(1) {
        Some(("-", digits)) => (true, digits),
        Some(("+", digits)) => (false, digits),
        _ => (false, text),
    };
    let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16),
        None if digits.len() > 1 && digits.starts_with('0') => u64::from_str_radix(digits, 8),
        None => digits.parse(),
    };
    match value {
        Ok(value) if is_negative => Ok(value.wrapping_neg()),
        Ok(value) => Ok(value),
        Err(e) if *e.kind() == IntErrorKind::PosOverflow => Err("its value does not fit 64 bits"),
        Err(_) => Err("its value is not a number"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clang's `char`, which is signed.
    const CHAR: ConfigType = ConfigType::Char { signed: true };

    #[test]
    fn weak_externs_without_a_value_are_one_warning_in_the_order_of_their_names() {
        let warning = |names: &[&'static str]| weak_warning(names.iter().map(|name| name.as_bytes()), "why");
        assert_eq!(warning(&[]), None);
        assert_eq!(warning(&["CONFIG_A"]).as_deref(), Some("CONFIG_A: weak, and its value stays 0: why"));
        let expected = "CONFIG_A, CONFIG_B, CONFIG_C: weak, and their values stay 0: why";
        assert_eq!(warning(&["CONFIG_C", "CONFIG_A", "CONFIG_B"]).as_deref(), Some(expected));
    }

    fn slot(ty: ConfigType, size: u32) -> ConfigSlot {
        ConfigSlot { ty, size, align: size, offset: 0 }
    }

    fn encode(ty: ConfigType, size: u32, value: &str) -> Result<Vec<u8>, String> {
        let mut bytes = vec![0; 8];
        set(&mut bytes, slot(ty, size), value)?;
        bytes.truncate(ByteSize(size).index());
        Ok(bytes)
    }

    #[test]
    fn values_are_encoded_by_their_type_or_refused() {
        assert_eq!(encode(ConfigType::Bool, 1, "y"), Ok(vec![1]));
        assert!(encode(ConfigType::Bool, 1, "m").is_err());
        assert_eq!(encode(CHAR, 1, "m"), Ok(vec![b'm']));
        assert_eq!(encode(ConfigType::Int { signed: true }, 1, "-128").map(|b| b.len()), Ok(1));
        assert!(encode(ConfigType::Int { signed: true }, 1, "-129").is_err());
        assert!(encode(ConfigType::Int { signed: false }, 2, "0x10000").is_err());
        assert!(encode(ConfigType::Int { signed: false }, 8, "0xffffffffffffffff").is_ok());
        assert!(encode(ConfigType::Int { signed: false }, 4, "y").is_err());
        assert!(encode(ConfigType::Bool, 1, "1").is_err());
        assert_eq!(encode(ConfigType::Text, 4, "\"abcdef\""), Ok(b"abc\0".to_vec()));
        let room = |size, value| room_of_longer_text(slot(ConfigType::Text, size), value);
        assert_eq!([room(4, "\"abcdef\""), room(4, "\"abc\""), room(4, "\"\"")], [Some(3), None, None]);
        assert_eq!(room_of_longer_text(slot(CHAR, 1), "\"abc\""), None);
        assert!(encode(ConfigType::Text, 4, "\"abc").is_err());
        assert!(encode(ConfigType::Text, 4, "\"").is_err());
    }

    #[test]
    fn a_value_is_read_to_its_end() {
        for value in ["yes", "no", "y2", "module", "m n"] {
            assert_eq!(
                encode(ConfigType::Bool, 1, value),
                Err("its value is not a number".into()),
                "{value}"
            );
        }
        assert_eq!(encode(ConfigType::Bool, 1, "y "), Ok(vec![1]));
    }

    #[test]
    fn a_char_is_signed_or_unsigned() {
        assert_eq!(encode(CHAR, 1, "-1"), Ok(vec![0xff]));
        assert_eq!(encode(CHAR, 1, "-128"), Ok(vec![0x80]));
        assert!(encode(CHAR, 1, "200").is_err());
        assert!(encode(CHAR, 1, "-129").is_err());
        let unsigned = ConfigType::Char { signed: false };
        assert_eq!(encode(unsigned, 1, "200"), Ok(vec![200]));
        assert!(encode(unsigned, 1, "-1").is_err());
        assert!(encode(unsigned, 1, "256").is_err());
    }

    #[test]
    fn numbers_as_in_c() {
        assert_eq!(parse_number("0x10"), Ok(16));
        assert_eq!(parse_number("010"), Ok(8));
        assert_eq!(parse_number("-1"), Ok(u64::MAX));
        for text in ["12x", "", "-", "0x", "09", "many"] {
            assert_eq!(parse_number(text), Err("its value is not a number"), "{text}");
        }
        for text in ["18446744073709551616", "0x10000000000000000", "-99999999999999999999"] {
            assert_eq!(parse_number(text), Err("its value does not fit 64 bits"), "{text}");
        }
    }
}
