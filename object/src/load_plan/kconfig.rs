//! Values of configuration externs: `.kconfig`'s bytes (libbpf: `bpf_object__resolve_externs`).

use super::{LoadPlanError, error::Refusal, host::Host};
use crate::{
    elf::text,
    features::Feature,
    link::externs::{ConfigSlot, ConfigType, ExternBinding, ExternEntry},
};
use core_relo::Endian;
use std::collections::HashMap;

/// Fills `.kconfig`. `extra` comes before the kernel's own configuration.
pub(super) fn values(
    externs: &[ExternEntry<'_>],
    size: u32,
    host: &Host,
    extra: Option<&str>,
) -> Result<Vec<u8>, LoadPlanError> {
    let mut bytes = vec![0u8; usize::try_from(size).unwrap_or_default()];
    let mut wanted = HashMap::new();
    let mut refused = Vec::new();
    for e in externs {
        let ExternBinding::Config(slot) = e.binding else { continue };
        if e.name.starts_with(b"CONFIG_") {
            wanted.insert(e.name, (e, slot));
            continue;
        }
        let set = match virtual_value(e, host) {
            Ok(Some(value)) => set_number(&mut bytes, slot, value),
            Ok(None) => Ok(()),
            Err(why) => Err(why),
        };
        refused.extend(set.err().map(|why| Refusal::new(text(e.name), why)));
    }
    if !wanted.is_empty() {
        let mut take = |config: &str| {
            for (name, value) in config.lines().filter_map(assignment) {
                if let Some((e, slot)) = wanted.remove(name.as_bytes())
                    && let Err(why) = set(&mut bytes, slot, value)
                {
                    refused
                        .push(Refusal::new(text(e.name), format!("{why} (the configuration says {value})")));
                }
            }
            wanted.is_empty()
        };
        if !extra.is_some_and(&mut take) {
            match host.read_kconfig() {
                Ok(config) => {
                    take(&config);
                }
                // libbpf fails, too, even if all that is missing is weak.
                Err(e) => {
                    let why =
                        format!("the kernel's configuration is not known: {e}; give its text to the loader");
                    refused.extend(wanted.keys().map(|name| Refusal::new(text(name), why.clone())));
                    wanted.clear();
                }
            }
        }
        let why = if host.knows_types_only() && extra.is_none() {
            "what that kernel's configuration says is not known: give its text (a /boot/config-… file)"
        } else {
            "the kernel's configuration does not set it; declare it __weak to get 0 instead"
        };
        let strong = wanted.values().filter(|(e, _)| !e.is_weak);
        refused.extend(strong.map(|(e, _)| Refusal::new(text(e.name), why)));
    }
    if refused.is_empty() {
        return Ok(bytes);
    }
    refused.sort_by(|a, b| a.name.cmp(&b.name));
    Err(LoadPlanError::Externs(refused))
}

/// `CONFIG_X=value`.
fn assignment(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("CONFIG_")?;
    line.split_once('=')
}

/// Returns the value of a variable that the loader supplies.
fn virtual_value(e: &ExternEntry<'_>, host: &Host) -> Result<Option<u64>, String> {
    match e.name {
        b"LINUX_KERNEL_VERSION" => match host.kernel_version {
            0 => Err("the kernel's version is not known".into()),
            version => Ok(Some(version.into())),
        },
        b"LINUX_HAS_BPF_COOKIE" => Ok(Some(host.features.has(Feature::Cookie).into())),
        b"LINUX_HAS_SYSCALL_WRAPPER" => Ok(Some(host.features.has(Feature::SyscallWrapper).into())),
        name if name.starts_with(b"LINUX_") && e.is_weak => Ok(None),
        _ => Err("only names that begin with CONFIG_, and LINUX_KERNEL_VERSION, LINUX_HAS_BPF_COOKIE and \
                  LINUX_HAS_SYSCALL_WRAPPER, are known"
            .into()),
    }
}

fn set(bytes: &mut [u8], slot: ConfigSlot, value: &str) -> Result<(), String> {
    match value.as_bytes().first() {
        Some(letter @ (b'y' | b'n' | b'm')) => set_letter(bytes, slot, *letter),
        Some(b'"') => set_text(bytes, slot, value),
        None => Err("it has no value".into()),
        Some(_) => {
            let number = parse_u64(value).ok_or("its value is no number")?;
            if !matches!(slot.ty, ConfigType::Int { .. } | ConfigType::Char { .. }) {
                return Err("its value is a number, its type is none".into());
            }
            set_number(bytes, slot, number)
        }
    }
}

/// libbpf: `set_kcfg_value_tri`.
fn set_letter(bytes: &mut [u8], slot: ConfigSlot, letter: u8) -> Result<(), String> {
    match slot.ty {
        ConfigType::Bool if letter == b'm' => Err("`m` needs the type enum libbpf_tristate or char".into()),
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
            Err("`y`, `m` and `n` need the type bool, enum libbpf_tristate or char".into())
        }
    }
}

/// libbpf: `set_kcfg_value_str`; too long a text is cut.
fn set_text(bytes: &mut [u8], slot: ConfigSlot, value: &str) -> Result<(), String> {
    if slot.ty != ConfigType::Text {
        return Err("its value is a text, its type is no array of char".into());
    }
    let inner =
        value.strip_prefix('"').and_then(|v| v.strip_suffix('"')).ok_or("its text does not end in `\"`")?;
    let room = place(bytes, slot).ok_or("it lies outside of .kconfig")?;
    let most = room.len().saturating_sub(1);
    for (to, from) in room.iter_mut().take(most).zip(inner.bytes()) {
        *to = from;
    }
    Ok(())
}

/// libbpf: `set_kcfg_value_num`.
fn set_number(bytes: &mut [u8], slot: ConfigSlot, value: u64) -> Result<(), String> {
    let signed = match slot.ty {
        ConfigType::Int { signed } | ConfigType::Char { signed } => signed,
        ConfigType::Bool if value <= 1 => false,
        _ => return Err(format!("its value {value} does not fit its type")),
    };
    let bits = slot.size.saturating_mul(8);
    let fits = match (bits, signed) {
        (64.., _) => true,
        (_, false) => value >> bits == 0,
        (_, true) => value.wrapping_add(1 << bits.saturating_sub(1)) < 1 << bits,
    };
    if !fits {
        return Err(format!("its value {value:#x} does not fit {} bytes", slot.size));
    }
    put(bytes, slot, value)
}

fn put(bytes: &mut [u8], slot: ConfigSlot, value: u64) -> Result<(), String> {
    let room = place(bytes, slot).ok_or("it lies outside of .kconfig")?;
    for (to, from) in room.iter_mut().zip(Endian::Little.u64_bytes(value)) {
        *to = from;
    }
    if Endian::native() == Endian::Big {
        room.reverse();
    }
    Ok(())
}

fn place(bytes: &mut [u8], slot: ConfigSlot) -> Option<&mut [u8]> {
    let start = usize::try_from(slot.offset).ok()?;
    bytes.get_mut(start..start.checked_add(usize::try_from(slot.size).ok()?)?)
}

/// As C's `strtoull` with base 0: decimal, `0x…` or octal, with a sign.
fn parse_u64(text: &str) -> Option<u64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16),
        None if digits.len() > 1 && digits.starts_with('0') => u64::from_str_radix(digits, 8),
        None => digits.parse(),
    };
    let value = value.ok()?;
    Some(if negative { value.wrapping_neg() } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `char` is to clang.
    const CHAR: ConfigType = ConfigType::Char { signed: true };

    fn slot(ty: ConfigType, size: u32) -> ConfigSlot {
        ConfigSlot { ty, size, align: size, offset: 0 }
    }

    fn of(ty: ConfigType, size: u32, value: &str) -> Result<Vec<u8>, String> {
        let mut bytes = vec![0; 8];
        set(&mut bytes, slot(ty, size), value)?;
        bytes.truncate(usize::try_from(size).unwrap_or(8));
        Ok(bytes)
    }

    #[test]
    fn values_take_the_form_of_their_type_or_are_refused() {
        assert_eq!(of(ConfigType::Bool, 1, "y"), Ok(vec![1]));
        assert!(of(ConfigType::Bool, 1, "m").is_err());
        assert_eq!(of(CHAR, 1, "m"), Ok(vec![b'm']));
        assert_eq!(of(ConfigType::Int { signed: true }, 1, "-128").map(|b| b.len()), Ok(1));
        assert!(of(ConfigType::Int { signed: true }, 1, "-129").is_err());
        assert!(of(ConfigType::Int { signed: false }, 2, "0x10000").is_err());
        assert!(of(ConfigType::Int { signed: false }, 8, "0xffffffffffffffff").is_ok());
        assert!(of(ConfigType::Int { signed: false }, 4, "y").is_err());
        assert!(of(ConfigType::Bool, 1, "1").is_err());
        assert_eq!(of(ConfigType::Text, 4, "\"abcdef\""), Ok(b"abc\0".to_vec()));
        assert!(of(ConfigType::Text, 4, "\"abc").is_err());
        assert!(of(ConfigType::Text, 4, "\"").is_err());
    }

    #[test]
    fn one_byte_has_a_sign_or_none() {
        assert_eq!(of(CHAR, 1, "-1"), Ok(vec![0xff]));
        assert_eq!(of(CHAR, 1, "-128"), Ok(vec![0x80]));
        assert!(of(CHAR, 1, "200").is_err());
        assert!(of(CHAR, 1, "-129").is_err());
        let unsigned = ConfigType::Char { signed: false };
        assert_eq!(of(unsigned, 1, "200"), Ok(vec![200]));
        assert!(of(unsigned, 1, "-1").is_err());
        assert!(of(unsigned, 1, "256").is_err());
    }

    #[test]
    fn numbers_as_in_c() {
        assert_eq!(parse_u64("0x10"), Some(16));
        assert_eq!(parse_u64("010"), Some(8));
        assert_eq!(parse_u64("-1"), Some(u64::MAX));
        assert_eq!(parse_u64("12x"), None);
        assert_eq!(parse_u64(""), None);
    }
}
