//! The kernel's symbols by address.

use std::{collections::HashMap, fs};

/// The symbols of `/proc/kallsyms` whose addresses this user may see.
#[derive(Debug, Default)]
pub struct KernelSymbols {
    by_address: HashMap<u64, String>,
    /// The address of `__bpf_call_base`. The immediates of translated helper and kfunc calls are relative to
    /// it.
    call_base: Option<u64>,
}

impl KernelSymbols {
    /// Reads `/proc/kallsyms`.
    pub fn read() -> Self {
        match fs::read_to_string("/proc/kallsyms") {
            Ok(text) => Self::parse(&text),
            Err(e) => {
                log::info!("/proc/kallsyms: no symbols are known: {e}");
                Self::default()
            }
        }
    }

    fn parse(text: &str) -> Self {
        let mut all = Self::default();
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let (Some(address), Some(_), Some(name)) = (words.next(), words.next(), words.next()) else {
                continue;
            };
            // The address is zero if this user may not see it.
            let Some(address) = u64::from_str_radix(address, 16).ok().filter(|at| *at != 0) else { continue };
            if name == "__bpf_call_base" {
                all.call_base = Some(address);
            }
            all.by_address.entry(address).or_insert_with(|| name.to_owned());
        }
        all
    }

    /// Returns whether this user may see addresses. Otherwise no symbol is known.
    pub fn are_visible(&self) -> bool {
        !self.by_address.is_empty()
    }

    /// Returns the symbol at an address.
    pub fn name_at(&self, address: u64) -> Option<&str> {
        self.by_address.get(&address).map(String::as_str)
    }

    /// Returns the function that a translated call with this immediate calls.
    pub fn call_target(&self, imm: i32) -> Option<&str> {
        let address = self.call_base?.wrapping_add_signed(imm.into());
        self.name_at(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_relative_to_the_base() {
        let text = "ffffffff81000010 T __bpf_call_base\nffffffff81000000 T bpf_map_lookup_elem\n\
                    ffffffff81000100 t cubic_init\t[tcp_cubic]\n";
        let symbols = KernelSymbols::parse(text);
        assert!(symbols.are_visible() && !KernelSymbols::parse("0000000000000000 T _text\n").are_visible());
        assert_eq!(symbols.call_target(-16), Some("bpf_map_lookup_elem"));
        assert_eq!(symbols.call_target(0xf0), Some("cubic_init"));
        assert_eq!(symbols.call_target(12), None);
        assert_eq!(KernelSymbols::parse("0000000000000000 T __bpf_call_base\n").call_target(0), None);
    }
}
