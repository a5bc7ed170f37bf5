//! The format of apt's indexes and sources: paragraphs of fields (deb822(5)).

/// A paragraph.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paragraph<'t> {
    text: &'t str,
}

/// Splits a text into paragraphs, which empty lines separate.
pub(crate) fn paragraphs(text: &str) -> impl Iterator<Item = Paragraph<'_>> {
    text.split("\n\n").filter(|text| !text.trim().is_empty()).map(|text| Paragraph { text })
}

impl<'t> Paragraph<'t> {
    /// Returns the text.
    pub(crate) const fn text(self) -> &'t str {
        self.text
    }

    /// Returns the first line of a field, without space around it.
    pub(crate) fn field(self, name: &str) -> Option<&'t str> {
        self.text.lines().find_map(|line| value_of(line, name))
    }

    /// Returns the lines of a field: the first one, and those after it that begin with a space.
    pub(crate) fn lines(self, name: &str) -> impl Iterator<Item = &'t str> {
        let mut lines = self.text.lines();
        let first = lines.find_map(|line| value_of(line, name));
        let further = lines.take_while(|line| line.starts_with([' ', '\t']) || line.starts_with('#'));
        let has_field = first.is_some();
        let further = further.filter(|line| !line.starts_with('#')).map(str::trim);
        first.into_iter().chain(further.filter(move |_| has_field)).filter(|line| !line.is_empty())
    }

    /// Returns the words of a field.
    pub(crate) fn words(self, name: &str) -> impl Iterator<Item = &'t str> {
        self.lines(name).flat_map(str::split_whitespace)
    }
}

/// Returns the value in a line with this field. Names of fields are case-insensitive.
fn value_of<'t>(line: &'t str, name: &str) -> Option<&'t str> {
    let (field, value) = line.split_once(':')?;
    field.eq_ignore_ascii_case(name).then(|| value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_go_on_in_lines_that_begin_with_a_space() {
        let text = "Types: deb\nURIs:\n http://a.example/debian\n# a comment\n http://b.example/debian\nSuites: x y\n\n\
                    package: b\n";
        let all: Vec<_> = paragraphs(text).collect();
        let uris: Vec<_> = all[0].words("URIs").collect();
        assert_eq!(uris, ["http://a.example/debian", "http://b.example/debian"]);
        assert_eq!(all[0].words("Suites").collect::<Vec<_>>(), ["x", "y"]);
        assert_eq!(all[0].field("Components"), None);
        assert_eq!(all[1].field("Package"), Some("b"));
        assert_eq!(all.len(), 2);
    }
}
