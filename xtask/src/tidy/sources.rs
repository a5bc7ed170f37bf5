//! The Rust sources of a crate, as a tree of modules, without what only tests compile.

use super::File;
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::path::Path;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

/// The crates that people use.
pub(super) const PRODUCT: [&str; 14] = [
    "btf",
    "core-relo",
    "object",
    "verdict",
    "report",
    "sign",
    "dwarf",
    "loader",
    "adaptive",
    "kernels",
    "build",
    "vm",
    "cli",
    "web",
];

/// A Rust file.
pub(super) struct Source<'f> {
    pub(super) file: &'f File,
    pub(super) tree: syn::File,
    /// The lines of items that only tests compile.
    test_lines: Vec<RangeInclusive<usize>>,
}

/// A crate.
pub(super) struct Crate<'s, 'f> {
    /// The directory, relative to the workspace's root.
    pub(super) dir: &'static str,
    /// The modules that have files. The root is the first one.
    pub(super) modules: Vec<Module<'s, 'f>>,
}

/// A module that has a file.
pub(super) struct Module<'s, 'f> {
    /// The names of the modules from the root to this one. The root has none.
    pub(super) path: Vec<String>,
    pub(super) source: &'s Source<'f>,
    /// Whether only tests compile the module.
    pub(super) is_test: bool,
}

impl<'f> Source<'f> {
    pub(super) fn parse(file: &'f File) -> Result<Self, String> {
        let tree = syn::parse_file(&file.text);
        let tree =
            tree.map_err(|error| format!("{}:{}: {error}", file.path.display(), error.span().start().line))?;
        Ok(Self { file, test_lines: TestItems::of(&tree), tree })
    }

    /// Returns the numbered lines without comments and without items that only tests compile.
    pub(super) fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = (1..).zip(self.file.text.lines()).filter(|(number, _)| !self.is_test_line(*number));
        lines.filter(|(_, line)| !line.trim_start().starts_with("//"))
    }

    /// Returns the lines in which the code has a word outside of texts.
    pub(super) fn lines_with_word(&self, word: &str) -> Vec<usize> {
        let mut lines = Vec::new();
        find_word(self.tree.to_token_stream(), word, &mut lines);
        lines.retain(|number| !self.is_test_line(*number));
        lines
    }

    fn is_test_line(&self, number: usize) -> bool {
        self.test_lines.iter().any(|lines| lines.contains(&number))
    }
}

impl<'s, 'f> Crate<'s, 'f> {
    /// Finds the modules of a crate.
    pub(super) fn new(dir: &'static str, sources: &'s [Source<'f>]) -> Self {
        let module = |source: &'s Source<'f>| {
            Some(Module { path: module_path(dir, &source.file.path)?, source, is_test: false })
        };
        let mut modules = sources.iter().filter_map(module).collect::<Vec<_>>();
        modules.sort_by(|a, b| a.path.cmp(&b.path));
        let declared = modules.iter().flat_map(Module::test_modules).collect::<Vec<_>>();
        for module in &mut modules {
            module.is_test = declared.iter().any(|test| module.path.starts_with(test));
        }
        Self { dir, modules }
    }

    /// Returns the modules that are part of the product.
    pub(super) fn product(&self) -> impl Iterator<Item = &Module<'s, 'f>> {
        self.modules.iter().filter(|module| !module.is_test)
    }

    /// Returns the indexes of the modules by their paths.
    pub(super) fn by_path(&self) -> HashMap<&[String], usize> {
        self.modules.iter().enumerate().map(|(index, module)| (&*module.path, index)).collect()
    }
}

impl Module<'_, '_> {
    /// Returns the paths of the modules in other files that this file declares for tests.
    fn test_modules(&self) -> Vec<Vec<String>> {
        let declared = self.source.tree.items.iter().filter_map(|item| match item {
            syn::Item::Mod(module) if module.content.is_none() && is_for_tests(&module.attrs) => {
                Some([&*self.path, &[module.ident.to_string()]].concat())
            }
            _ => None,
        });
        declared.collect()
    }
}

/// Collects the lines of the tokens that are a word.
fn find_word(tokens: TokenStream, word: &str, lines: &mut Vec<usize>) {
    for token in tokens {
        match token {
            TokenTree::Ident(ident) if ident == word => lines.push(ident.span().start().line),
            TokenTree::Group(group) => find_word(group.stream(), word, lines),
            _ => {}
        }
    }
}

/// Returns the path of the module in a file of a crate.
fn module_path(dir: &str, file: &Path) -> Option<Vec<String>> {
    let inside = file.strip_prefix(dir).ok()?.strip_prefix("src").ok()?;
    let inside = inside.to_str()?.strip_suffix(".rs")?;
    let inside = inside.strip_suffix("/mod").unwrap_or(inside);
    match inside {
        "lib" => Some(Vec::new()),
        // The root of the binary, which calls the library, counts as the module `main`.
        path => Some(path.split('/').map(str::to_owned).collect()),
    }
}

/// Returns whether only tests compile what the attributes belong to.
pub(super) fn is_for_tests(attrs: &[syn::Attribute]) -> bool {
    attrs.iter().any(|attr| {
        attr.path().is_ident("test")
            || attr.path().is_ident("cfg")
                && attr.parse_args::<syn::Meta>().is_ok_and(|condition| needs_tests(&condition))
    })
}

fn needs_tests(condition: &syn::Meta) -> bool {
    match condition {
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::List(list) if list.path.is_ident("all") => {
            let all = syn::punctuated::Punctuated::<syn::Meta, syn::Token![,]>::parse_terminated;
            list.parse_args_with(all).is_ok_and(|parts| parts.iter().any(needs_tests))
        }
        _ => false,
    }
}

/// Collects the lines of items that only tests compile.
struct TestItems(Vec<RangeInclusive<usize>>);

impl TestItems {
    fn of(tree: &syn::File) -> Vec<RangeInclusive<usize>> {
        let mut items = Self(Vec::new());
        items.visit_file(tree);
        items.0
    }

    fn add(&mut self, attrs: &[syn::Attribute], item: &impl ToTokens) -> bool {
        let is_for_tests = is_for_tests(attrs);
        if is_for_tests {
            let span = item.span();
            self.0.push(span.start().line..=span.end().line);
        }
        is_for_tests
    }
}

impl<'ast> Visit<'ast> for TestItems {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !self.add(item_attributes(item), item) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !self.add(&function.attrs, function) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        self.add(&field.attrs, field);
    }
}

/// Returns the attributes of an item.
pub(super) fn item_attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Union(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn file(path: &str, text: &str) -> File {
        File { path: PathBuf::from(path), text: text.to_owned() }
    }

    #[test]
    fn items_of_tests_are_left_out_and_what_follows_is_not() {
        let text = "//! x\nfn f() {}\n// c\n#[cfg(test)]\nmod tests;\nfn g() {}\n#[cfg(all(test, feature = \"a\"))]\nmod more {\n    fn h() {}\n}\nimpl A {\n    #[cfg(test)]\n    fn i() {}\n    fn j() {}\n}\n";
        let files = [file("dwarf/src/lib.rs", text), file("dwarf/src/tests.rs", "//! x\nfn k() {}\n")];
        let sources = files.iter().map(|file| Source::parse(file).unwrap()).collect::<Vec<_>>();
        let krate = Crate::new("dwarf", &sources);
        let root = krate.modules[0].source;
        assert_eq!(root.code().map(|(number, _)| number).collect::<Vec<_>>(), [2, 6, 11, 14, 15]);
        assert_eq!(root.lines_with_word("fn"), [2, 6, 14]);
        assert_eq!(krate.product().count(), 1);
        let main = [file("dwarf/src/main.rs", "fn main() {}\n"), file("dwarf/build.rs", "")];
        let main = main.iter().map(|file| Source::parse(file).unwrap()).collect::<Vec<_>>();
        assert_eq!(Crate::new("dwarf", &main).product().count(), 1, "the rules hold for the binary, too");
        let broken = file("dwarf/src/a.rs", "\nfn (");
        assert!(Source::parse(&broken).err().unwrap().starts_with("dwarf/src/a.rs:2: "));
    }
}
