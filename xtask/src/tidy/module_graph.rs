//! Which modules of a crate use which: no circles between siblings.

use super::sources::{Crate, Module, is_for_tests, item_attributes};
use std::collections::{BTreeMap, HashMap};
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

/// The most re-exports that one path passes through.
const RE_EXPORTS: usize = 16;

/// A use of a module by a sibling.
#[derive(Clone, Debug)]
pub(super) struct Edge {
    pub(super) from: String,
    pub(super) to: String,
    /// One place that has the path: a file and a line.
    pub(super) place: String,
    /// The path in the source.
    pub(super) path: String,
}

/// Returns the uses between the children of each module, by the path of the parent.
pub(super) fn edges(krate: &Crate<'_, '_>) -> BTreeMap<Vec<String>, Vec<Edge>> {
    let names = Names::new(krate);
    let mut edges = BTreeMap::<Vec<String>, BTreeMap<(String, String), Edge>>::new();
    for module in krate.product() {
        for (line, path) in paths(module) {
            let Some(target) = names.module_of(&path) else { continue };
            let target = &krate.modules[target].path;
            let common = module.path.iter().zip(target).take_while(|(a, b)| a == b).count();
            let (Some(from), Some(to)) = (module.path.get(common), target.get(common)) else { continue };
            let parent = module.path[..common].to_vec();
            edges.entry(parent).or_default().entry((from.clone(), to.clone())).or_insert_with(|| Edge {
                from: from.clone(),
                to: to.clone(),
                place: format!("{}:{line}", module.source.file.path.display()),
                path: path.join("::"),
            });
        }
    }
    edges.into_iter().map(|(parent, edges)| (parent, edges.into_values().collect())).collect()
}

/// What each module calls by which name: its children, and what it imports.
struct Names<'c> {
    modules: HashMap<&'c [String], usize>,
    /// The absolute paths of imports, by module and name. A glob has the name `*`.
    imports: HashMap<(Vec<String>, String), Vec<Vec<String>>>,
}

impl<'c> Names<'c> {
    fn new(krate: &'c Crate<'_, '_>) -> Self {
        let modules = krate.by_path();
        let mut imports = HashMap::<_, Vec<Vec<String>>>::new();
        for module in krate.product() {
            for (name, path) in imported(module) {
                // A path may begin with a child.
                let child = [module.path.as_slice(), &path[..1]].concat();
                let path = match absolute(&module.path, &path) {
                    Some(path) => path,
                    None if modules.contains_key(&*child) => [module.path.as_slice(), &path].concat(),
                    None => continue,
                };
                imports.entry((module.path.clone(), name)).or_default().push(path);
            }
        }
        Self { modules, imports }
    }

    /// Returns the module that contains what an absolute path names.
    fn module_of(&self, path: &[String]) -> Option<usize> {
        let mut rest = path.to_vec();
        for _ in 0..RE_EXPORTS {
            let known = (0..=rest.len()).rev().find(|len| self.modules.contains_key(&rest[..*len]))?;
            let (module, names) = rest.split_at(known);
            let Some((name, names)) = names.split_first() else { return self.modules.get(module).copied() };
            let imports = |name: &str| self.imports.get(&(module.to_vec(), name.to_owned()));
            let Some(import) = imports(name).and_then(|paths| paths.first()) else {
                return self.through_glob(module, name).or_else(|| self.modules.get(module).copied());
            };
            rest = [import.as_slice(), names].concat();
        }
        None
    }

    /// Returns the module below a glob import that has a child or an import of a name.
    fn through_glob(&self, module: &[String], name: &str) -> Option<usize> {
        let globs = self.imports.get(&(module.to_vec(), "*".to_owned()))?;
        globs.iter().find_map(|glob| {
            let found = [glob.as_slice(), &[name.to_owned()]].concat();
            let import = self.imports.get(&(glob.clone(), name.to_owned())).and_then(|paths| paths.first());
            let index = import
                .map_or_else(|| self.modules.get(&*found), |path| self.modules.get(&path[..path.len() - 1]));
            index.copied()
        })
    }
}

/// Returns the names that a module imports, with their paths, of which none is empty.
fn imported(module: &Module<'_, '_>) -> Vec<(String, Vec<String>)> {
    let mut imported = Vec::new();
    for item in &module.source.tree.items {
        if let syn::Item::Use(item) = item
            && !is_for_tests(&item.attrs)
        {
            imported.extend(tree_paths(&item.tree).into_iter().filter_map(|(name, path)| {
                let last = path.last()?.clone();
                Some((if name == "self" { last } else { name }, path))
            }));
        }
    }
    imported
}

/// Returns the absolute paths in the code of a module that begin with `crate`, `self` or `super`, with their
/// lines.
fn paths(module: &Module<'_, '_>) -> Vec<(usize, Vec<String>)> {
    let mut collector = Collector { module: module.path.clone(), found: Vec::new() };
    collector.visit_file(&module.source.tree);
    collector.found
}

/// Returns a path from the root. `None` if it does not begin in the crate.
fn absolute(module: &[String], path: &[String]) -> Option<Vec<String>> {
    let mut base = match path.first().map(String::as_str)? {
        "crate" => Vec::new(),
        "self" => module.to_vec(),
        "super" => module.split_last()?.1.to_vec(),
        _ => return None,
    };
    let mut rest = &path[1..];
    while rest.first().is_some_and(|name| name == "super") {
        base.pop()?;
        rest = &rest[1..];
    }
    base.extend(rest.iter().cloned());
    Some(base)
}

/// Returns the names that a tree of imports declares, each with its path.
fn tree_paths(tree: &syn::UseTree) -> Vec<(String, Vec<String>)> {
    match tree {
        syn::UseTree::Path(part) => {
            let mut paths = tree_paths(&part.tree);
            for (_, path) in &mut paths {
                path.insert(0, part.ident.to_string());
            }
            paths
        }
        // `a::{self}` is a name for `a`, which its parent adds.
        syn::UseTree::Name(part) if part.ident == "self" => vec![("self".to_owned(), Vec::new())],
        syn::UseTree::Name(part) => vec![(part.ident.to_string(), vec![part.ident.to_string()])],
        syn::UseTree::Rename(part) => vec![(part.rename.to_string(), vec![part.ident.to_string()])],
        syn::UseTree::Glob(_) => vec![("*".to_owned(), Vec::new())],
        syn::UseTree::Group(group) => group.items.iter().flat_map(tree_paths).collect(),
    }
}

/// Collects the paths of a module.
struct Collector {
    /// The module with the modules inside the file that enclose the place.
    module: Vec<String>,
    found: Vec<(usize, Vec<String>)>,
}

impl Collector {
    fn add(&mut self, line: usize, path: &[String]) {
        self.found.extend(absolute(&self.module, path).map(|path| (line, path)));
    }

    /// Adds the paths in the tokens of a macro call.
    fn add_tokens(&mut self, tokens: proc_macro2::TokenStream) {
        use proc_macro2::TokenTree;
        let mut path = Vec::<String>::new();
        let (mut line, mut colons) = (0, 0);
        for token in tokens {
            match token {
                TokenTree::Ident(ident) if colons == 2 && !path.is_empty() => {
                    path.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' && !path.is_empty() && colons < 2 => {
                    colons += 1
                }
                other => {
                    self.add(line, &std::mem::take(&mut path));
                    colons = 0;
                    match other {
                        TokenTree::Ident(ident) => {
                            line = ident.span().start().line;
                            path.push(ident.to_string());
                        }
                        TokenTree::Group(group) => self.add_tokens(group.stream()),
                        _ => {}
                    }
                }
            }
        }
        self.add(line, &path);
    }
}

impl<'ast> Visit<'ast> for Collector {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !is_for_tests(item_attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        self.module.push(module.ident.to_string());
        visit::visit_item_mod(self, module);
        self.module.pop();
    }

    /// The module that may see an item is no module that the item uses.
    fn visit_vis_restricted(&mut self, _: &'ast syn::VisRestricted) {}

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !is_for_tests(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        for (_, path) in tree_paths(&item.tree) {
            self.add(item.span().start().line, &path);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names = path.segments.iter().map(|segment| segment.ident.to_string()).collect::<Vec<_>>();
        self.add(path.span().start().line, &names);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.add_tokens(call.tokens.clone());
        visit::visit_macro(self, call);
    }
}

/// Returns the groups of siblings that use each other in circles.
pub(super) fn circles(edges: &[Edge]) -> Vec<Vec<&str>> {
    let mut reached = BTreeMap::<&str, Vec<&str>>::new();
    for start in edges.iter().map(|edge| &*edge.from) {
        if reached.contains_key(start) {
            continue;
        }
        let (mut found, mut next) = (Vec::new(), vec![start]);
        while let Some(module) = next.pop() {
            for edge in edges.iter().filter(|edge| edge.from == module) {
                if !found.contains(&&*edge.to) {
                    found.push(&*edge.to);
                    next.push(&edge.to);
                }
            }
        }
        reached.insert(start, found);
    }
    let reaches = |from: &str, to: &str| reached.get(from).is_some_and(|found| found.contains(&to));
    let mut circles = Vec::<Vec<&str>>::new();
    for module in reached.keys().filter(|module| reaches(module, module)) {
        match circles.iter_mut().find(|circle| reaches(module, circle[0]) && reaches(circle[0], module)) {
            Some(circle) => circle.push(module),
            None => circles.push(vec![module]),
        }
    }
    circles
}
