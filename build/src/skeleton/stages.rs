//! The structs of an object before and after its load.

use super::code::Code;

/// The two structs: names, and parts that not every object has.
pub(super) struct Stages<'s> {
    /// The name of the struct after the load.
    pub(super) skeleton: &'s str,
    /// The name of the struct before the load.
    pub(super) open: &'s str,
    /// The type of the struct_ops maps before the load.
    pub(super) struct_ops: Option<&'s str>,
    pub(super) has_variants: bool,
}

impl Stages<'_> {
    /// Writes both structs with their methods.
    pub(super) fn write(&self, code: &mut Code) {
        write_open(code, self);
        write_loaded(code, self);
    }
}

/// Writes the struct of the object before the load.
fn write_open(code: &mut Code, stages: &Stages<'_>) {
    let Stages { skeleton, open, struct_ops, has_variants } = *stages;
    code.line("");
    code.line("/// The object before its load, with the settings of programs, maps and variables.");
    code.line("#[derive(Clone, Debug)]");
    code.block(format!("pub struct {open} {{"), "}", |code| {
        code.line("loader: Loader<'static, 'static>,");
        code.line("pub programs: OpenPrograms,");
        code.line("pub maps: OpenMaps,");
        code.line("pub globals: OpenGlobals,");
        if let Some(name) = struct_ops {
            code.line(format!("pub struct_ops: {name},"));
        }
    });
    code.line("");
    code.block(format!("impl {open} {{"), "}", |code| {
        code.line("/// Returns the loader, for other settings. Settings of the fields of this struct take precedence.");
        code.block("pub fn loader_mut(&mut self) -> &mut Loader<'static, 'static> {", "}", |code| {
            code.line("&mut self.loader");
        });
        code.line("");
        code.line("/// Returns a loader with all settings.");
        let signature =
            "pub fn to_loader(&self) -> Result<Loader<'static, 'static>, skeleton::SkeletonError> {";
        code.block(signature, "}", |code| {
            code.line("let mut loader = self.loader.clone();");
            code.line("self.programs.apply(loader.settings_mut());");
            code.line("self.maps.apply(loader.settings_mut());");
            code.line("self.globals.apply(&mut loader)?;");
            if struct_ops.is_some() {
                code.line("self.struct_ops.apply(&mut loader)?;");
            }
            code.line("Ok(loader)");
        });
        code.line("");
        code.line("/// Loads the object into the running kernel.");
        let signature = format!("pub fn load(&self) -> Result<{skeleton}, skeleton::SkeletonError> {{");
        code.block(signature, "}", |code| {
            code.line(format!("{skeleton}::from_loaded(self.to_loader()?.load()?)"));
        });
        if has_variants {
            write_adaptive(code, skeleton);
        }
    });
}

/// Writes the methods that load the variants that work on the kernel.
fn write_adaptive(code: &mut Code, skeleton: &str) {
    let (report, error) =
        ("::core_relo_adaptive::StartupReport", "::core_relo_adaptive::AdaptiveSkeletonError");
    code.line("");
    code.line("/// Loads the variants that work on the running kernel. Needs the crate core-relo-adaptive.");
    let result = format!("Result<({skeleton}, {report}), {error}>");
    code.block(format!("pub fn load_adaptive(&self) -> {result} {{"), "}", |code| {
        code.line("let (loaded, report) = ::core_relo_adaptive::load_skeleton(&self.to_loader()?)?;");
        code.line(format!("Ok(({skeleton}::from_loaded(loaded)?, report))"));
    });
    code.line("");
    code.line(
        "/// Loads and attaches the variants that work on the running kernel and that can be attached.",
    );
    let result = format!("Result<({skeleton}, Vec<attach::Link>, {report}), {error}>");
    code.block(format!("pub fn attach_adaptive(&self) -> {result} {{"), "}", |code| {
        code.line(
            "let (loaded, links, report) = ::core_relo_adaptive::attach_skeleton(&self.to_loader()?)?;",
        );
        code.line(format!("Ok(({skeleton}::from_loaded(loaded)?, links, report))"));
    });
}

/// Writes the struct of the loaded object.
fn write_loaded(code: &mut Code, stages: &Stages<'_>) {
    let Stages { skeleton, open, struct_ops, .. } = *stages;
    code.line("");
    code.line(
        "/// The loaded object. Dropping it and all its parts unloads the object; links keep their programs.",
    );
    code.line("#[derive(Debug)]");
    code.block(format!("pub struct {skeleton} {{"), "}", |code| {
        code.line("loaded: Arc<load::Loaded>,");
        code.line("pub programs: Programs,");
        code.line("pub maps: Maps,");
        code.line("pub globals: Globals,");
    });
    code.line("");
    code.block(format!("impl {skeleton} {{"), "}", |code| {
        code.line("/// Opens the object, without a system call that changes anything.");
        code.block(format!("pub fn open() -> Result<{open}, skeleton::SkeletonError> {{"), "}", |code| {
            code.line("let loader = OBJECT.loader()?;");
            code.line("let globals = OpenGlobals::new(&loader)?;");
            let tables = if let Some(name) = struct_ops {
                code.line(format!("let struct_ops = {name}::new(&loader)?;"));
                ", struct_ops"
            } else {
                ""
            };
            code.line(format!(
                "Ok({open} {{ loader, programs: OpenPrograms::default(), maps: OpenMaps::default(), globals{tables} }})"
            ));
        });
        code.line("");
        code.line("/// Creates the skeleton of an object that was loaded with the loader of `open`.");
        let signature = "pub fn from_loaded(loaded: load::Loaded) -> Result<Self, skeleton::SkeletonError> {";
        code.block(signature, "}", |code| {
            code.line("let loaded = Arc::new(loaded);");
            code.line("let (programs, maps) = (Programs::new(&loaded), Maps::new(&loaded)?);");
            code.line("let globals = Globals::new(&loaded);");
            code.line("Ok(Self { loaded, programs, maps, globals })");
        });
        code.line("");
        code.line("/// Returns the loaded object, which the parts share.");
        code.block("pub fn loaded(&self) -> &Arc<load::Loaded> {", "}", |code| code.line("&self.loaded"));
        code.line("");
        code.line("/// Attaches each program whose section names its target, and registers the struct_ops maps.");
        code.line("/// Programs and maps with `autoattach` off are skipped. Dropping a link detaches.");
        let signature = "pub fn attach(&self) -> Result<Vec<attach::Link>, attach::AttachError> {";
        code.block(signature, "}", |code| code.line("self.loaded.attach_all()"));
    });
}
