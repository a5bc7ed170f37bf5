//! Properties of skeletons: they are Rust, and no two items of a module, fields of a struct or methods of a
//! type have the same name.

use core_relo::btf::Type;
use core_relo_build::skeleton::{Options, generate};
use core_relo_loader::object::Object;
use std::collections::{HashMap, HashSet};
use syn::{Fields, ImplItem, Item};

/// The number of types that are requested besides those of maps and variables.
const TYPES: usize = 16;

/// Generates skeletons of an object: with all of its first named types, and with each of them.
pub fn check(file: &[u8]) {
    check_with(file, Vec::new());
    let Ok(object) = Object::parse(file) else { return };
    let Some(btf) = object.btf() else { return };
    let is_wanted =
        |ty: &Type<'_>| (ty.kind().is_composite() || ty.kind().is_enum()) && !ty.name().is_empty();
    let name = |ty: Type<'_>| core::str::from_utf8(ty.name().as_bytes()).ok().map(str::to_owned);
    let types: Vec<_> = btf.types().filter(is_wanted).filter_map(name).take(TYPES).collect();
    types.iter().for_each(|name| check_with(file, vec![name.clone()]));
    check_with(file, types);
}

fn check_with(object: &[u8], types: Vec<String>) {
    let mut options = Options::default();
    options.types = types;
    let generated = generate(object, "agent", &options);
    assert_eq!(generate(object, "agent", &options), generated);
    let Ok(text) = generated else { return };
    let file = syn::parse_file(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    check_items(&file.items);
}

/// Checks the names of a module's items.
fn check_items(items: &[Item]) {
    let (mut types, mut values) = (HashSet::new(), HashSet::new());
    let mut methods: HashMap<String, HashSet<String>> = HashMap::new();
    let add = |names: &mut HashSet<String>, name: &syn::Ident| {
        assert!(names.insert(name.to_string()), "two items have the name {name}");
    };
    for item in items {
        match item {
            Item::Struct(item) => {
                add(&mut types, &item.ident);
                if matches!(item.fields, Fields::Unnamed(_) | Fields::Unit) {
                    add(&mut values, &item.ident);
                }
                check_fields(&item.fields);
            }
            Item::Union(item) => {
                add(&mut types, &item.ident);
                check_fields(&Fields::Named(item.fields.clone()));
            }
            Item::Enum(item) => add(&mut types, &item.ident),
            Item::Type(item) => add(&mut types, &item.ident),
            Item::Const(item) if item.ident != "_" => add(&mut values, &item.ident),
            Item::Static(item) => add(&mut values, &item.ident),
            Item::Fn(item) => add(&mut values, &item.sig.ident),
            Item::Mod(module) => {
                add(&mut types, &module.ident);
                check_items(module.content.as_ref().map_or(&[], |(_, items)| items));
            }
            Item::Impl(block) if block.trait_.is_none() => {
                let syn::Type::Path(ty) = &*block.self_ty else { continue };
                let ty = ty.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
                let names = methods.entry(ty).or_default();
                for item in &block.items {
                    match item {
                        ImplItem::Fn(method) => add(names, &method.sig.ident),
                        ImplItem::Const(constant) => add(names, &constant.ident),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
}

fn check_fields(fields: &Fields) {
    let mut names = HashSet::new();
    for field in fields.iter().filter_map(|field| field.ident.as_ref()) {
        assert!(names.insert(field.to_string()), "two fields have the name {field}");
    }
}
