//! Text from input in markup. Control characters and invisible characters are escaped as on a terminal, and
//! long text is shortened.

use crate::{
    ci_log::command_positions,
    limits::{MAX_COMMENT_TEXT_CHARS, MAX_LOG_CHARS, MAX_TEXT_CHARS},
};
use core_relo::Escaped;
use std::{
    borrow::Cow,
    fmt::{self, Write},
};

/// Text for HTML and XML, in content and in quoted attributes. Commands of CI runners are escaped, because a
/// job may print the report.
///
/// XML allows no control characters, not even as references. [`Escaped`] leaves none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Markup<'t>(pub(super) &'t str);

impl fmt::Display for Markup<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = shortened(self.0, MAX_TEXT_CHARS);
        if !(text.contains("::") || text.contains("##")) {
            return write!(MarkupWriter(f), "{}", Escaped(text));
        }
        let text = Escaped(text).to_string();
        let mut rest = &*text;
        for at in command_positions(&text) {
            let (before, from) = rest.split_at(at - (text.len() - rest.len()));
            MarkupWriter(f).write_str(before)?;
            let mut chars = from.chars();
            chars.next().into_iter().try_for_each(|c| write!(f, "&#{};", u32::from(c)))?;
            rest = chars.as_str();
        }
        MarkupWriter(f).write_str(rest)
    }
}

/// Text of several lines for HTML and XML: a message with a verifier log.
///
/// Of a long text, the first two lines and the last lines stay, because the last line of a log decides.
#[derive(Clone, Copy, Debug)]
pub(super) struct MarkupLines<'t>(pub(super) &'t str);

impl MarkupLines<'_> {
    /// Returns the text for a quoted attribute. A parser turns line feeds in attributes into spaces, unless
    /// they are references.
    pub(super) fn attribute(self) -> String {
        self.to_string().replace('\n', "&#10;")
    }
}

impl fmt::Display for MarkupLines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, line) in last_lines(self.0, MAX_LOG_CHARS).into_iter().enumerate() {
            let separator = if number == 0 { "" } else { "\n" };
            write!(f, "{separator}{}", Markup(line))?;
        }
        Ok(())
    }
}

/// Returns the first two lines of a text, `…` in place of lines that are left out, and the last lines, of
/// about `max` characters in all.
fn last_lines(text: &str, max: usize) -> Vec<&str> {
    let mut lines: Vec<_> = text.lines().collect();
    let rest = lines.split_off(lines.len().min(2));
    let mut left = max;
    let fits = |line: &&&str| {
        // A line is shortened when it is written.
        let fitting = left.checked_sub(line.chars().count().min(MAX_TEXT_CHARS));
        left = fitting.unwrap_or(0);
        fitting.is_some()
    };
    let kept = rest.iter().rev().take_while(fits).count();
    let (left_out, kept) = rest.split_at(rest.len().saturating_sub(kept));
    lines.extend((!left_out.is_empty()).then_some("…"));
    lines.extend(kept);
    lines
}

/// A writer that replaces the characters that have a meaning in HTML and XML.
struct MarkupWriter<'f, 'o>(&'f mut fmt::Formatter<'o>);

impl Write for MarkupWriter<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars().try_for_each(|c| match c {
            '&' => self.0.write_str("&amp;"),
            '<' => self.0.write_str("&lt;"),
            '>' => self.0.write_str("&gt;"),
            '"' => self.0.write_str("&quot;"),
            '\'' => self.0.write_str("&#39;"),
            c => self.0.write_char(c),
        })
    }
}

/// Text as code in Markdown, also in tables. Code has no links, no mentions and no formatting.
///
/// A code span cannot contain a backtick, and in a table no `|`. Such text becomes an HTML element, with all
/// punctuation as references.
#[derive(Clone, Copy, Debug)]
pub(super) struct MarkdownCode<'t>(pub(super) &'t str);

impl fmt::Display for MarkdownCode<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = Escaped(shortened(self.0, MAX_COMMENT_TEXT_CHARS)).to_string();
        if !text.trim().is_empty() && !text.contains(['`', '|']) && command_positions(&text).is_empty() {
            return write!(f, "`{text}`");
        }
        f.write_str("<code>")?;
        text.chars().try_for_each(|c| match c {
            c if c.is_ascii_punctuation() => write!(f, "&#{};", u32::from(c)),
            c => f.write_char(c),
        })?;
        f.write_str("</code>")
    }
}

/// Returns the beginning of a text, of at most `max` characters and `…`.
pub(super) fn shortened(text: &str, max: usize) -> Cow<'_, str> {
    let beginning = text.char_indices().nth(max).and_then(|(end, _)| text.get(..end));
    beginning.map_or(Cow::Borrowed(text), |beginning| Cow::Owned(format!("{beginning}…")))
}

/// Returns the reference to a file in SARIF: a relative reference, or a `file:` URI for an absolute path.
pub(super) fn file_uri(path: &str) -> String {
    let relative = path.trim_start_matches("./");
    let mut uri = if path.starts_with('/') { "file://".to_owned() } else { String::new() };
    for byte in relative.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_has_no_markup_from_input() {
        let hostile = "<script>alert('1')</script>\"&amp;\u{1b}\n\u{202e}";
        let escaped = "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&quot;&amp;amp;\\u{1b}\\n\\u{202e}";
        assert_eq!(Markup(hostile).to_string(), escaped);
        assert_eq!(Markup("::a::<b> ##[c]").to_string(), "&#58;:a::&lt;b&gt; &#35;#[c]");
        assert_eq!(MarkupLines("a\n  ::b").to_string(), "a\n  &#58;:b");
        let long = Markup(&"ä".repeat(MAX_TEXT_CHARS + 1)).to_string();
        assert_eq!((long.chars().count(), long.ends_with("ä…")), (MAX_TEXT_CHARS + 1, true));
    }

    #[test]
    fn the_last_lines_of_a_long_log_stay() {
        let log: String = (0..900).map(|number| format!("{number}: <r0> = 0\u{1b}\n")).collect();
        let text = MarkupLines(&format!("refused\n  --> a.c:1\n{log}R4 unbounded\n")).to_string();
        assert!(text.starts_with("refused\n  --&gt; a.c:1\n…\n"), "{text}");
        assert!(text.ends_with("899: &lt;r0&gt; = 0\\u{1b}\nR4 unbounded"), "{text}");
        assert!(text.len() < 3 * MAX_LOG_CHARS);
        assert_eq!(MarkupLines("a\n\"b\"\nc").attribute(), "a&#10;&quot;b&quot;&#10;c");
        assert_eq!(MarkupLines("").to_string(), "");
    }

    #[test]
    fn markdown_has_no_markdown_from_input() {
        assert_eq!(
            MarkdownCode("bpf_loop @team #1 <b> [x](y)").to_string(),
            "`bpf_loop @team #1 <b> [x](y)`"
        );
        assert_eq!(MarkdownCode("a`b|c\n").to_string(), "<code>a&#96;b&#124;c&#92;n</code>");
        assert_eq!(MarkdownCode("").to_string(), "<code></code>");
        assert_eq!(MarkdownCode("::a").to_string(), "<code>&#58;&#58;a</code>");
    }

    #[test]
    fn paths_become_references() {
        assert_eq!(file_uri("./src/a b.bpf.c"), "src/a%20b.bpf.c");
        assert_eq!(file_uri("/build/é:%.c"), "file:///build/%C3%A9%3A%25.c");
        assert_eq!(file_uri("javascript:alert(1)"), "javascript%3Aalert%281%29");
    }
}
