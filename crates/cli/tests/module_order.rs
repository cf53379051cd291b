//! The modules of every crate, and of every directory in it, can be read in an order: there are no
//! import cycles between them. Test code is ignored.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails loudly")]

use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The name for the items of `lib.rs` or `main.rs` themselves.
const ROOT: &str = "(root)";

#[test]
fn modules_import_each_other_in_one_direction() {
    let mut problems = Vec::new();
    for (name, directory) in crates() {
        let cycle = Graph::read(&directory).cycle();
        problems.extend(cycle.map(|cycle| format!("{name}: {cycle}")));
        for below in directories(&directory) {
            let cycle = Graph::read_below(&directory, &below).cycle();
            problems.extend(cycle.map(|cycle| format!("{name}::{}: {cycle}", below.join("::"))));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Returns every crate of the workspace with its source directory.
fn crates() -> BTreeMap<String, PathBuf> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let directories = std::fs::read_dir(all).unwrap().map(|entry| entry.unwrap().path());
    directories
        .filter(|path| path.join("Cargo.toml").exists())
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), path.join("src")))
        .collect()
}

/// The top-level modules of a crate, those that each refers to, and the file that does.
#[derive(Default)]
struct Graph(BTreeMap<String, BTreeMap<String, String>>);

impl Graph {
    fn read(source: &Path) -> Self {
        let root = ["lib.rs", "main.rs"]
            .map(|name| source.join(name))
            .into_iter()
            .find(|path| path.exists())
            .unwrap();
        let root_paths = paths(&tokens(&root));
        let modules = modules(source);
        // An item that the root re-exports belongs to its module, and so does an exported macro.
        let macros = macros(source);
        let mut exported: BTreeMap<&str, &str> = root_paths
            .iter()
            .filter(|path| path.is_use)
            .filter_map(|path| {
                let mut names = path
                    .names
                    .iter()
                    .map(String::as_str)
                    .filter(|name| !["crate", "self"].contains(name));
                let module = names.next().filter(|name| modules.contains(*name))?;
                Some((names.next_back()?, module))
            })
            .collect();
        exported.extend(macros.iter().map(|(name, module)| (name.as_str(), module.as_str())));
        let mut graph = Self::default();
        for path in root_paths.iter().filter(|path| !path.is_use) {
            if let Some(module) = path.names.iter().find(|name| modules.contains(*name)) {
                graph.add(ROOT, module, &root, source);
            }
        }
        for file in files(source).into_iter().filter(|file| *file != root) {
            let module = module_path(&file, source);
            let Some(own) = module.first().filter(|own| modules.contains(*own)) else { continue };
            for name in paths(&tokens(&file))
                .iter()
                .filter_map(|path| below_root(&path.names, module.len()))
            {
                let target = if modules.contains(name) {
                    name
                } else {
                    *exported.get(name).unwrap_or(&ROOT)
                };
                graph.add(own, target, &file, source);
            }
        }
        graph
    }

    /// Reads the modules in a directory. The file of the directory itself is not one of them: it is
    /// read together with its modules.
    fn read_below(source: &Path, parent: &[String]) -> Self {
        let files: Vec<(PathBuf, Vec<String>)> = files(source)
            .into_iter()
            .map(|file| (file.clone(), module_path(&file, source)))
            .filter(|(_, module)| module.starts_with(parent))
            .collect();
        let child = |module: &[String]| module.get(parent.len()).cloned();
        let modules: BTreeSet<String> =
            files.iter().filter_map(|(_, module)| child(module)).collect();
        let mut exported: BTreeMap<String, String> = BTreeMap::new();
        for (file, _) in files.iter().filter(|(_, module)| module == parent) {
            for path in paths(&tokens(file)).into_iter().filter(|path| path.is_use) {
                let mut names = path.names.into_iter().skip_while(|name| name == "self");
                let module = names.next().filter(|name| modules.contains(name));
                exported.extend(names.last().zip(module));
            }
        }
        let mut graph = Self::default();
        for (file, module) in &files {
            let Some(own) = child(module) else { continue };
            for path in paths(&tokens(file)) {
                let Some(whole) = absolute(&path.names, module) else { continue };
                let named = Some(&whole).filter(|whole| whole.starts_with(parent));
                let Some(name) = named.and_then(|whole| child(whole)) else { continue };
                let target =
                    if modules.contains(&name) { Some(&name) } else { exported.get(&name) };
                if let Some(target) = target {
                    graph.add(&own, target, file, source);
                }
            }
        }
        graph
    }

    fn add(&mut self, from: &str, to: &str, file: &Path, source: &Path) {
        if from != to {
            let file = file.strip_prefix(source).unwrap().display().to_string();
            self.0.entry(from.to_owned()).or_default().entry(to.to_owned()).or_insert(file);
        }
    }

    /// Returns a shortest cycle, with a file for each of its imports.
    fn cycle(&self) -> Option<String> {
        let cycles = self.0.keys().filter_map(|start| self.path_back(start));
        let shortest = cycles.min_by_key(Vec::len)?;
        let steps = shortest.iter().zip(shortest.iter().cycle().skip(1)).map(|(from, to)| {
            let file = self.0.get(*from).and_then(|targets| targets.get(*to)).unwrap();
            format!("{from} → {to} ({file})")
        });
        Some(steps.collect::<Vec<_>>().join(", "))
    }

    /// Returns the shortest path from a module back to itself.
    fn path_back<'a>(&'a self, start: &'a str) -> Option<Vec<&'a str>> {
        let mut seen = BTreeSet::new();
        let mut paths = std::collections::VecDeque::from([vec![start]]);
        while let Some(path) = paths.pop_front() {
            let targets = self.0.get(*path.last().unwrap()).into_iter().flatten();
            for target in targets.map(|(target, _)| target.as_str()) {
                if target == start {
                    return Some(path);
                }
                if seen.insert(target) {
                    paths.push_back([path.clone(), vec![target]].concat());
                }
            }
        }
        None
    }
}

/// Returns the top-level modules: a file or a directory each.
fn modules(source: &Path) -> BTreeSet<String> {
    let names = std::fs::read_dir(source).unwrap().map(|entry| entry.unwrap().path());
    let names = names.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned());
    names.filter(|name| !["lib", "main", "bin", "tests"].contains(&name.as_str())).collect()
}

/// Returns the module paths of all directories with modules.
fn directories(source: &Path) -> BTreeSet<Vec<String>> {
    let modules = files(source).into_iter().map(|file| module_path(&file, source));
    let parents = modules.filter_map(|module| Some(module.split_last()?.1.to_vec()));
    parents.filter(|parent| !parent.is_empty()).collect()
}

/// Returns the exported macros, each with its top-level module.
fn macros(source: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for file in files(source) {
        let Some(module) = module_path(&file, source).into_iter().next() else { continue };
        let tokens = tokens(&file);
        let names = tokens.windows(3).filter_map(|window| match window {
            [TokenTree::Ident(word), _, TokenTree::Ident(name)] if word == "macro_rules" => {
                Some(name.to_string())
            }
            _ => None,
        });
        found.extend(names.map(|name| (name, module.clone())));
    }
    found
}

/// Returns the source files, without those that contain only tests.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        if path.file_stem().is_some_and(|name| name == "tests") {
            continue;
        }
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Returns the module path of a file: `show/text.rs` is `show`, `text`; `show/mod.rs` is `show`.
fn module_path(file: &Path, source: &Path) -> Vec<String> {
    let path = file.strip_prefix(source).unwrap().with_extension("");
    let mut names: Vec<String> =
        path.iter().map(|name| name.to_str().unwrap().to_owned()).collect();
    if names.last().is_some_and(|name| name == "mod") {
        names.pop();
    }
    names
}

fn tokens(file: &Path) -> Vec<TokenTree> {
    let text = std::fs::read_to_string(file).unwrap();
    let stream: TokenStream =
        text.parse().unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    without_tests(stream)
}

/// Returns the tokens of a file without the items under `#[cfg(test)]`.
fn without_tests(stream: TokenStream) -> Vec<TokenTree> {
    let mut kept: Vec<TokenTree> = Vec::new();
    let mut rest = stream.into_iter().peekable();
    while let Some(token) = rest.next() {
        let is_test = token.to_string().replace(' ', "") == "[cfg(test)]";
        if is_test && kept.last().is_some_and(|sign| sign.to_string() == "#") {
            kept.pop();
            skip_item(&mut rest);
        } else {
            kept.push(token);
        }
    }
    kept
}

/// Skips an item, which ends with its body or with a semicolon.
fn skip_item(rest: &mut Peekable<proc_macro2::token_stream::IntoIter>) {
    for token in rest {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => return,
            TokenTree::Punct(sign) if sign.as_char() == ';' => return,
            _ => {}
        }
    }
}

/// A path such as `crate::show::text`, and whether a `use` names it.
struct Named {
    names: Vec<String>,
    is_use: bool,
}

/// Returns every path of a file, with those in braces expanded.
fn paths(tokens: &[TokenTree]) -> Vec<Named> {
    let mut found = Vec::new();
    collect(tokens, &[], false, &mut found);
    found.retain(|path| path.names.len() > 1);
    found
}

fn collect(mut rest: &[TokenTree], before: &[String], mut is_use: bool, found: &mut Vec<Named>) {
    while let Some((token, after)) = rest.split_first() {
        rest = after;
        match token {
            TokenTree::Ident(name) if name == "use" => is_use = true,
            // `pub(crate)` and `pub(in crate::x)` refer to nothing.
            TokenTree::Ident(name) if name == "pub" => {
                if let Some((TokenTree::Group(_), after)) = rest.split_first() {
                    rest = after;
                }
            }
            TokenTree::Ident(name) => {
                let names = [before, &[name.to_string()]].concat();
                rest = collect_from(names, rest, is_use, found);
            }
            TokenTree::Punct(sign) if sign.as_char() == ';' => is_use = false,
            TokenTree::Group(group) => collect(&without_tests(group.stream()), &[], false, found),
            _ => {}
        }
    }
}

/// Continues a started path. Returns the tokens after it.
fn collect_from<'a>(
    mut names: Vec<String>,
    mut rest: &'a [TokenTree],
    is_use: bool,
    found: &mut Vec<Named>,
) -> &'a [TokenTree] {
    let is = |token: &TokenTree, text: &str| token.to_string() == text;
    while let [first, second, third, after @ ..] = rest
        && is(first, ":")
        && is(second, ":")
    {
        match third {
            TokenTree::Ident(name) => names.push(name.to_string()),
            TokenTree::Group(group) => {
                collect(&without_tests(group.stream()), &names, is_use, found);
                return after;
            }
            _ => break,
        }
        rest = after;
    }
    if let [renames, TokenTree::Ident(name), after @ ..] = rest
        && is_use
        && is(renames, "as")
    {
        names.push(name.to_string());
        rest = after;
    }
    found.push(Named { names, is_use });
    rest
}

/// Returns the first name below the crate's root, for a path in a module of this depth; none for a
/// path inside the module.
fn below_root(names: &[String], depth: usize) -> Option<&str> {
    let ups = names.iter().take_while(|name| *name == "super").count();
    let is_absolute =
        names.first().is_some_and(|name| name == "crate") || (ups > 0 && ups == depth);
    is_absolute.then(|| names.get(ups.max(1)).map(String::as_str)).flatten()
}

/// Returns the whole path of a name that a module uses; none for a path that starts elsewhere.
fn absolute(names: &[String], module: &[String]) -> Option<Vec<String>> {
    let ups = names.iter().take_while(|name| *name == "super").count();
    let base = match names.first().map(String::as_str)? {
        "crate" => return Some(names.get(1..)?.to_vec()),
        "self" => module,
        "super" => module.get(..module.len().checked_sub(ups)?)?,
        _ => return None,
    };
    Some([base, names.get(ups.max(1)..)?].concat())
}
