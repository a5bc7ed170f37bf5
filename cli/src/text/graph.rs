//! Control-flow graphs, for Graphviz or as JSON lines.

use crate::{format::Format, text::printer::Printer};
use core_relo::{Escaped, insn::BlockEdge};
use serde::Serialize;
use std::io;

/// A function with its basic blocks.
pub(crate) struct GraphFunction {
    /// The section of an object; `None` for a loaded program.
    pub(crate) section: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) blocks: Vec<GraphBlock>,
}

/// A basic block with the text of its instructions.
pub(crate) struct GraphBlock {
    pub(crate) first: u32,
    pub(crate) last: u32,
    pub(crate) lines: Vec<String>,
    pub(crate) edges: Vec<BlockEdge>,
}

/// A writer of the graphs of several functions: one DOT graph with a cluster for each function, or one JSON
/// line for each block.
pub(crate) struct GraphWriter {
    format: Format,
    function_count: usize,
}

impl GraphWriter {
    pub(crate) fn new(format: Format) -> Self {
        Self { format, function_count: 0 }
    }

    /// Begins the output.
    pub(crate) fn begin(&self, out: &mut Printer<'_>) -> io::Result<()> {
        match self.format {
            Format::Json => Ok(()),
            Format::Text => {
                out.line("digraph \"control flow\" {")?;
                out.line("  node [shape=box, fontname=monospace];")
            }
        }
    }

    /// Ends the output.
    pub(crate) fn end(&self, out: &mut Printer<'_>) -> io::Result<()> {
        match self.format {
            Format::Json => Ok(()),
            Format::Text => out.line("}"),
        }
    }

    /// Writes a function.
    pub(crate) fn write(&mut self, out: &mut Printer<'_>, function: &GraphFunction) -> io::Result<()> {
        let number = self.function_count;
        self.function_count = number.saturating_add(1);
        match self.format {
            Format::Json => {
                function.blocks.iter().try_for_each(|block| out.json(&BlockLine::new(function, block)))
            }
            Format::Text => write_cluster(out, number, function),
        }
    }
}

fn write_cluster(out: &mut Printer<'_>, number: usize, function: &GraphFunction) -> io::Result<()> {
    let section = function.section.as_deref().map_or_else(String::new, |section| format!(" ({section})"));
    let title = format!("{}{section}", function.name.as_deref().unwrap_or("no function"));
    out.line(format_args!("  subgraph cluster_{number} {{"))?;
    out.line(format_args!("    label=\"{}\";", dot_text(&title)))?;
    for (position, block) in function.blocks.iter().enumerate() {
        let label: String = block.lines.iter().map(|line| format!("{}\\l", dot_text(line))).collect();
        out.line(format_args!("    f{number}_b{position} [label=\"{label}\"];"))?;
    }
    out.line("  }")?;
    for (position, block) in function.blocks.iter().enumerate() {
        for (edge_number, edge) in block.edges.iter().enumerate() {
            let style = if edge.is_jump { "" } else { " [style=dashed]" };
            match edge.to {
                Some(to) => out.line(format_args!("  f{number}_b{position} -> f{number}_b{to}{style};"))?,
                None => {
                    let outside = format!("f{number}_b{position}_out{edge_number}");
                    out.line(format_args!(
                        "  {outside} [shape=plaintext, label=\"outside of the function\"];"
                    ))?;
                    out.line(format_args!("  f{number}_b{position} -> {outside}{style};"))?;
                }
            }
        }
    }
    Ok(())
}

/// Returns text for a quoted string of the DOT language.
fn dot_text(text: &str) -> String {
    Escaped(text).to_string().replace('\\', "\\\\").replace('"', "\\\"")
}

/// The JSON line of a basic block.
#[derive(Serialize)]
struct BlockLine<'a> {
    section: Option<&'a str>,
    function: Option<&'a str>,
    first_insn: u32,
    last_insn: u32,
    text: &'a [String],
    edges: Vec<EdgeLine>,
}

#[derive(Serialize)]
struct EdgeLine {
    kind: &'static str,
    /// The first instruction of the next block.
    insn: Option<u32>,
}

impl<'a> BlockLine<'a> {
    fn new(function: &'a GraphFunction, block: &'a GraphBlock) -> Self {
        let edge = |edge: &BlockEdge| EdgeLine {
            kind: if edge.is_jump { "jump" } else { "next" },
            insn: edge.to.and_then(|to| function.blocks.get(to)).map(|block| block.first),
        };
        Self {
            section: function.section.as_deref(),
            function: function.name.as_deref(),
            first_insn: block.first,
            last_insn: block.last,
            text: &block.lines,
            edges: block.edges.iter().map(edge).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_end_a_dot_string() {
        assert_eq!(dot_text("a\"]; x\\"), "a\\\"]; x\\\\");
        assert!(!dot_text("a\nb").contains('\n'));
    }
}
