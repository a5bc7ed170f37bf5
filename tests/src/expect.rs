//! Parser for the `//# expect` lines of the test programs. `bpf-progs/README.md` has the grammar.

/// The expected outcome of one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// `el` or `eb` if the line applies to objects of one byte order only.
    pub order: Option<String>,
    /// The target's name.
    pub target: String,
    /// The ELF section.
    pub section: String,
    /// The index of the record in the section.
    pub index: u32,
    /// The name of the relocation kind, for example `field_byte_offset`.
    pub kind: String,
    /// `keep`, `patch`, `poison` or `error`.
    pub outcome: String,
    /// The local value and the target value.
    pub values: Option<(u64, u64)>,
}

/// Parses all expectations of a source file, in order. An error quotes the line that cannot be parsed.
pub fn parse(source: &str) -> Result<Vec<Expectation>, String> {
    let lines = source.lines().filter(|line| line.starts_with("//# expect"));
    lines.map(|line| parse_line(line).ok_or_else(|| format!("cannot parse `{line}`"))).collect()
}

fn parse_line(line: &str) -> Option<Expectation> {
    let mut words = line.strip_prefix("//# ")?.split_whitespace();
    let order = match words.next()? {
        "expect" => None,
        word => Some(word.strip_prefix("expect[")?.strip_suffix(']')?.to_owned()),
    };
    let target = words.next()?.to_owned();
    let (section, index) = words.next()?.rsplit_once('#')?;
    let kind = words.next()?.to_owned();
    let outcome = words.next()?.to_owned();
    let values = match words.next() {
        None => None,
        Some(values) => {
            let (local, target) = values.split_once("->")?;
            Some((parse_number(local)?, parse_number(target)?))
        }
    };
    let index = index.parse().ok()?;
    words.next().is_none().then_some(Expectation {
        order,
        target,
        section: section.to_owned(),
        index,
        kind,
        outcome,
        values,
    })
}

/// Parses a decimal, hexadecimal or negative number. A negative number becomes its two's complement.
fn parse_number(text: &str) -> Option<u64> {
    if let Some(hex) = text.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).ok();
    }
    text.parse().ok().or_else(|| text.parse::<i64>().ok().map(i64::cast_unsigned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_missing_or_extra_words_is_refused() {
        let expectation =
            &parse("//# expect[eb] moved tp/x#2 field_exists patch -1->0x10\nint x;").unwrap()[0];
        assert_eq!(
            (expectation.order.as_deref(), expectation.target.as_str(), expectation.section.as_str()),
            (Some("eb"), "moved", "tp/x")
        );
        assert_eq!((expectation.index, expectation.values), (2, Some((u64::MAX, 16))));
        assert!(parse("//# expect moved tp/x field_exists patch").is_err());
        assert!(parse("//# expect moved tp/x#0 field_exists patch 1->2 more").is_err());
    }
}
