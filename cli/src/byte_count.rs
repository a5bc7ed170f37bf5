//! A number of bytes on the command line: `4096`, `512K`, `64M`, `1G`.

/// The factors of the suffixes.
const UNITS: [(char, u64); 4] = [('K', 1 << 10), ('M', 1 << 20), ('G', 1 << 30), ('T', 1 << 40)];

/// Parses a number of bytes. The suffixes K, M, G and T, in either case and with or without `iB`, are powers
/// of 1024.
pub(super) fn parse(text: &str) -> Result<u64, String> {
    let expected = || "expected a number of bytes, as 1048576, 512K, 64M or 1G".to_owned();
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let number: u64 = digits.parse().map_err(|_| expected())?;
    let suffix = text.strip_prefix(digits).ok_or_else(expected)?;
    if suffix.is_empty() {
        return Ok(number);
    }
    let unit = suffix.strip_suffix("iB").unwrap_or(suffix).to_ascii_uppercase();
    let factor = UNITS.iter().find(|(letter, _)| unit == letter.to_string()).map(|(_, factor)| *factor);
    let factor = factor.ok_or_else(expected)?;
    number.checked_mul(factor).ok_or_else(|| format!("is too large, expected at most {} bytes", u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_a_suffix_or_are_bytes() {
        for (text, bytes) in [
            ("0", 0),
            ("20000", 20_000),
            ("512K", 512 << 10),
            ("64m", 64 << 20),
            ("1G", 1 << 30),
            ("1GiB", 1 << 30),
            ("2T", 2 << 40),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        for bad in
            ["", "G", "-1", "1GB", "1 G", "1KK", "1iB", "0x10", "1.5G", "16777216T", "99999999999999999999"]
        {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
