//! The address that a caller chooses for a kernel symbol without a type.

use core::{fmt, str::FromStr};
use core_relo::Text;
use thiserror::Error;

/// The address that a caller chooses for a kernel symbol without a type, for a name that several symbols
/// have.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SymbolAddress {
    /// The address of one of the symbols of the name. Addresses change with each start of a kernel.
    At(u64),
    /// A place after a symbol that is the only one of its name. It is the same at each start of a kernel.
    After {
        /// The name of the symbol.
        symbol: String,
        /// The distance from the symbol, in bytes.
        offset: u64,
    },
}

/// An error in a chosen address.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SymbolAddressError {
    /// No symbol of the name has the address.
    #[error("the chosen address {chosen:#x} is that of no symbol of this name: {}", Listed(.symbols))]
    OtherSymbol {
        /// The address.
        chosen: u64,
        /// The addresses of the symbols.
        symbols: Vec<u64>,
    },
    /// The kernel has no symbol after which the address should be.
    #[error("the chosen symbol `{symbol}` is not one of the kernel's symbols")]
    NoSymbol {
        /// The name of the symbol.
        symbol: Text,
    },
    /// Several symbols have the name of the one after which the address should be.
    #[error("the chosen symbol `{symbol}` is ambiguous, too: {}", Listed(.symbols))]
    Ambiguous {
        /// The name of the symbol.
        symbol: Text,
        /// The addresses of the symbols.
        symbols: Vec<u64>,
    },
    /// The kernel hides the addresses of symbols.
    #[error("the kernel hides the address of the chosen symbol `{symbol}` (kernel.kptr_restrict)")]
    Hidden {
        /// The name of the symbol.
        symbol: Text,
    },
    /// The place is beyond the last address.
    #[error("the place {offset:#x} bytes after the chosen symbol `{symbol}` is no address")]
    Overflow {
        /// The name of the symbol.
        symbol: Text,
        /// The distance from the symbol, in bytes.
        offset: u64,
    },
}

core_relo::debug_as_message!(SymbolAddressError);

/// The addresses of one name that are kept, apart from the one that a caller chooses. Two are ambiguous.
pub(super) const LISTED_ADDRESSES: usize = 1024;

/// The addresses that a message names.
const LISTED: usize = 4;

/// Prints addresses: `symbols of this name are at 0x10, 0x20 and 3 more`.
struct Listed<'a>(&'a [u64]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() {
            "no symbol has this name"
        } else {
            "symbols of this name are at "
        })?;
        for (position, address) in self.0.iter().take(LISTED).enumerate() {
            let is_last = position.checked_add(1) == Some(self.0.len());
            let separator = if position == 0 {
                ""
            } else if is_last {
                " and "
            } else {
                ", "
            };
            write!(f, "{separator}{address:#x}")?;
        }
        match self.0.len().checked_sub(LISTED) {
            // Further ones are not kept.
            Some(more @ 1..) if self.0.len() >= LISTED_ADDRESSES => write!(f, " and at least {more} more"),
            Some(more @ 1..) => write!(f, " and {more} more"),
            _ => Ok(()),
        }
    }
}

impl SymbolAddress {
    /// Returns the address. `addresses_of` returns the different addresses of a kernel's symbols of a name, 0
    /// for hidden ones.
    pub fn resolve(
        &self,
        name: &[u8],
        mut addresses_of: impl FnMut(&[u8]) -> Vec<u64>,
    ) -> Result<u64, SymbolAddressError> {
        match self {
            Self::At(chosen) => {
                let symbols = addresses_of(name);
                let is_known = symbols.iter().any(|address| address == chosen || *address == 0);
                if is_known {
                    Ok(*chosen)
                } else {
                    Err(SymbolAddressError::OtherSymbol { chosen: *chosen, symbols })
                }
            }
            Self::After { symbol, offset } => {
                let (shown, symbols) = (Text::from(symbol.as_str()), addresses_of(symbol.as_bytes()));
                match *symbols.as_slice() {
                    [] => Err(SymbolAddressError::NoSymbol { symbol: shown }),
                    [0] => Err(SymbolAddressError::Hidden { symbol: shown }),
                    [address] => address
                        .checked_add(*offset)
                        .ok_or(SymbolAddressError::Overflow { symbol: shown, offset: *offset }),
                    _ => Err(SymbolAddressError::Ambiguous { symbol: shown, symbols }),
                }
            }
        }
    }
}

/// The text is no address and no symbol.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[error("expected an address such as 0xffffffff81000000, or a symbol with an offset such as _text+0x1000")]
#[non_exhaustive]
pub struct SymbolAddressSyntax;

core_relo::debug_as_message!(SymbolAddressSyntax);

/// Parses an address in hexadecimal with `0x`, or `symbol`, `symbol+offset` with a decimal or hexadecimal
/// offset.
impl FromStr for SymbolAddress {
    type Err = SymbolAddressSyntax;

    fn from_str(text: &str) -> Result<Self, SymbolAddressSyntax> {
        if text.starts_with("0x") {
            return Ok(Self::At(parse_number(text)?));
        }
        let (symbol, offset) = match text.split_once('+') {
            Some((symbol, offset)) => (symbol, parse_number(offset)?),
            None => (text, 0),
        };
        let is_symbol = |c: char| !c.is_whitespace() && !c.is_control() && c != '+';
        let begins_with_digit = symbol.starts_with(|c: char| c.is_ascii_digit());
        if symbol.is_empty() || begins_with_digit || !symbol.chars().all(is_symbol) {
            return Err(SymbolAddressSyntax);
        }
        Ok(Self::After { symbol: symbol.to_owned(), offset })
    }
}

fn parse_number(text: &str) -> Result<u64, SymbolAddressSyntax> {
    let (digits, radix) = text.strip_prefix("0x").map_or((text, 10), |hex| (hex, 16));
    let is_number = digits.chars().all(|digit| digit.is_digit(radix));
    if is_number {
        u64::from_str_radix(digits, radix).map_err(|_no_number| SymbolAddressSyntax)
    } else {
        Err(SymbolAddressSyntax)
    }
}

/// Returns whether a line of `/proc/kallsyms` shows the address 0. The first symbols of a kernel may have
/// this address; if all have it, the kernel hides the addresses (kernel: `kallsyms_show_value`).
pub fn shows_no_address(line: &[u8]) -> bool {
    line.iter().find(|byte| **byte != b'0') == Some(&b' ')
}

/// Returns the problem of a name that several symbols have.
pub fn ambiguity_text([first, second]: [impl fmt::Display; 2]) -> String {
    format!("it is ambiguous: symbols of this name are at {first} and {second}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_symbols_are_parsed() {
        let after = |symbol: &str, offset| Ok(SymbolAddress::After { symbol: symbol.to_owned(), offset });
        assert_eq!("0xffffffff81000000".parse(), Ok(SymbolAddress::At(0xffff_ffff_8100_0000)));
        assert_eq!("_text+0x1000".parse(), after("_text", 0x1000));
        assert_eq!("do_exit+16".parse(), after("do_exit", 16));
        assert_eq!("x.isra.0".parse(), after("x.isra.0", 0));
        for wrong in ["", "+1", "7", "0x", "0xg", "a+", "a+-1", "a++1", "a+0x1ffffffffffffffff", "a b"] {
            assert_eq!(wrong.parse::<SymbolAddress>(), Err(SymbolAddressSyntax), "{wrong}");
        }
    }

    /// A stale address and an ambiguous or hidden base are refused, never taken for another place.
    #[test]
    fn an_address_is_that_of_a_symbol_and_a_base_is_unique() {
        let addresses_of = |name: &[u8]| match name {
            b"many" => vec![0x10, 0x20, 0x30, 0x40, 0x50],
            b"one" => vec![0x100],
            b"hidden" => vec![0],
            _ => Vec::new(),
        };
        let resolve = |name: &str, text: &str| {
            let address: SymbolAddress = text.parse().unwrap();
            address.resolve(name.as_bytes(), addresses_of).map_err(|error| error.to_string())
        };
        assert_eq!(resolve("many", "0x30"), Ok(0x30));
        assert_eq!(resolve("many", "one+0x8"), Ok(0x108));
        assert_eq!(resolve("hidden", "0x30"), Ok(0x30));
        let error = "the chosen address 0x31 is that of no symbol of this name: symbols of this name are at 0x10, 0x20, 0x30, \
                     0x40 and 1 more";
        assert_eq!(resolve("many", "0x31").unwrap_err(), error);
        let error = "the chosen address 0x31 is that of no symbol of this name: no symbol has this name";
        assert_eq!(resolve("none", "0x31").unwrap_err(), error);
        assert_eq!(
            resolve("many", "none").unwrap_err(),
            "the chosen symbol `none` is not one of the kernel's symbols"
        );
        assert!(
            resolve("one", "many").unwrap_err().starts_with("the chosen symbol `many` is ambiguous, too: ")
        );
        assert!(resolve("one", "hidden+1").unwrap_err().contains("kptr_restrict"));
        assert!(resolve("one", "one+0xffffffffffffffff").unwrap_err().contains("no address"));
    }
}
