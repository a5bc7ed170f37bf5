//! Writes inputs: `growth_input FOLDER COUNT [DIMENSION]`, and prints command lines.
use core_relo_tests::growth::{Command, dimensions};
use std::path::PathBuf;
fn main() {
    let args: Vec<_> = std::env::args().skip(1).collect();
    let (folder, n) = (PathBuf::from(&args[0]), args[1].parse::<usize>().unwrap());
    for (at, d) in dimensions().iter().enumerate() {
        if args.get(2).is_some_and(|only| !d.name.contains(&**only)) {
            continue;
        }
        let n = n.min(d.most);
        let w = (d.make)(n).write(&folder.join(format!("{at}-{n}"))).unwrap();
        for c in Command::ALL.iter().filter(|c| d.commands.contains(c)) {
            let words: Vec<_> = c.words(&w, false).iter().map(|w| w.to_str().unwrap().to_owned()).collect();
            println!("{}\t{}\t{}\t{}", d.name, c.name(), n, words.join(" "));
        }
    }
}
