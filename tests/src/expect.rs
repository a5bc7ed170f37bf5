//! The `//# expect` lines of the test programs (the grammar is in `bpf-progs/README.md`).

/// One record's expected fate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// `el` or `eb`, if it holds for objects of one byte order only.
    pub order: Option<String>,
    /// The target's name.
    pub target: String,
    /// The ELF section.
    pub section: String,
    /// The record's number in it.
    pub index: u32,
    /// `field_byte_offset` and so on.
    pub kind: String,
    /// `keep`, `patch`, `poison` or `error`.
    pub outcome: String,
    /// The local and the target value.
    pub values: Option<(u64, u64)>,
}

/// All expectations in a source file, in order; a line that cannot be read is an error that quotes it.
pub fn parse(source: &str) -> Result<Vec<Expectation>, String> {
    let lines = source.lines().filter(|line| line.starts_with("//# expect"));
    lines.map(|line| line_of(line).ok_or_else(|| format!("cannot read `{line}`"))).collect()
}

fn line_of(line: &str) -> Option<Expectation> {
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
            Some((number(local)?, number(target)?))
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

/// Decimal, hexadecimal, or a negative number's two's complement.
fn number(text: &str) -> Option<u64> {
    if let Some(hex) = text.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).ok();
    }
    text.parse().ok().or_else(|| text.parse::<i64>().ok().map(i64::cast_unsigned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_whole_or_refused() {
        let one = &parse("//# expect[eb] moved tp/x#2 field_exists patch -1->0x10\nint x;").unwrap()[0];
        assert_eq!(
            (one.order.as_deref(), one.target.as_str(), one.section.as_str()),
            (Some("eb"), "moved", "tp/x")
        );
        assert_eq!((one.index, one.values), (2, Some((u64::MAX, 16))));
        assert!(parse("//# expect moved tp/x field_exists patch").is_err());
        assert!(parse("//# expect moved tp/x#0 field_exists patch 1->2 more").is_err());
    }
}
