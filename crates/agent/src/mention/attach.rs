//! Files mentioned with `#`. A file in a granted directory stays where it is, others are copied
//! into the workspace; short texts and images are also added to the message.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use globset::GlobBuilder;
use waterline::message::{Body, Image, Part};
use waterline_log::read_all;
use waterline_sandbox::Workspace;
use waterline_sandbox::workspace::climbs_out;

use super::problem::{AttachProblem, FileProblem};
use crate::environment::private_path;
use crate::reason::counted;
use crate::state::Upload;
use crate::tool::{READ_FILE, image_media_type};

/// Maximum number of files per mention.
const MAX_FILES: usize = 50;

/// Maximum size of a file.
const MAX_BYTES: usize = 20_000_000;

/// Maximum length of a text that is added to the message; of a longer text only the name is added.
const TEXT_CHARS: usize = 20_000;

/// What became of the files that a message names.
#[derive(Clone, Debug, Default)]
pub struct Attached {
    /// Parts for the message.
    pub parts: Vec<Part>,
    /// The files as recorded in the state.
    pub files: Vec<Upload>,
    /// What could not be attached, for the user.
    pub problems: Vec<AttachProblem>,
}

/// Attaches the named files; those that the agent cannot reach are copied into its workspace. A
/// name is a path relative to `base`, a directory or a pattern. `sees` is whether the model accepts
/// images.
#[must_use]
pub fn attach(workspace: &Workspace, base: &Path, names: &[String], sees: bool) -> Attached {
    let mut attached = Attached::default();
    for name in names {
        let paths = matching(base, name);
        if paths.is_empty() {
            attached.problems.push(AttachProblem::NotFound(name.clone()));
        }
        if paths.len() > MAX_FILES {
            let name = name.clone();
            attached.problems.push(AttachProblem::TooMany { name, most: MAX_FILES });
        }
        for path in paths.into_iter().take(MAX_FILES) {
            let may_leave = leads_outside(Path::new(name));
            if let Err(why) = attach_file(workspace, base, &path, (sees, may_leave), &mut attached)
            {
                attached.problems.push(AttachProblem::File { path, why });
            }
        }
    }
    attached
}

/// Returns whether a name openly leads outside the base directory, so that the user must mean it.
/// Two dots inside a file name do not count.
fn leads_outside(name: &Path) -> bool {
    name.is_absolute() || climbs_out(name)
}

/// Returns the files that a name matches.
fn matching(base: &Path, name: &str) -> Vec<PathBuf> {
    let whole = base.join(name);
    if whole.is_file() {
        return vec![whole];
    }
    let (directory, pattern) = match whole.is_dir() {
        true => (whole, "*".to_owned()),
        false if name.contains(['*', '?', '[']) => {
            let fixed: PathBuf = Path::new(name)
                .components()
                .take_while(|part| !part.as_os_str().to_string_lossy().contains(['*', '?', '[']))
                .collect();
            let rest = Path::new(name)
                .strip_prefix(&fixed)
                .map(|rest| rest.display().to_string())
                .unwrap_or_default();
            (base.join(fixed), rest)
        }
        false => return Vec::new(),
    };
    let Ok(glob) = GlobBuilder::new(&pattern).literal_separator(true).build() else {
        return Vec::new();
    };
    let glob = glob.compile_matcher();
    let mut found = Vec::new();
    // Hidden files match only if the pattern names them.
    let hidden = pattern.split('/').any(|part| part.starts_with('.'));
    walk(&directory, Path::new(""), hidden, &mut |path| {
        if glob.is_match(path) {
            found.push(directory.join(path));
        }
        found.len() <= MAX_FILES
    });
    found
}

/// Visits the files below a directory until `visit` returns false. Names that start with a dot are
/// visited only with `hidden`; `.git` never is.
fn walk(directory: &Path, at: &Path, hidden: bool, visit: &mut dyn FnMut(&Path) -> bool) -> bool {
    let mut entries: Vec<_> =
        std::fs::read_dir(directory.join(at)).into_iter().flatten().flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    entries.into_iter().all(|entry| {
        let name = entry.file_name();
        if !hidden && name.to_string_lossy().starts_with('.') || name == ".git" {
            return true;
        }
        let path = at.join(name);
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => walk(directory, &path, hidden, visit),
            Ok(kind) if kind.is_file() => visit(&path),
            _ => true,
        }
    })
}

fn attach_file(
    workspace: &Workspace,
    base: &Path,
    path: &Path,
    (sees, may_leave): (bool, bool),
    attached: &mut Attached,
) -> Result<(), FileProblem> {
    // A file may be a link that someone else placed in the directory.
    let real = path.canonicalize()?;
    let real_base = base.canonicalize().unwrap_or_default();
    if !may_leave && !real.starts_with(&real_base) {
        return Err(FileProblem::Link(real));
    }
    let bytes = read(path)?;
    let inside = path
        .strip_prefix(base)
        .ok()
        .filter(|inside| !inside.components().any(|part| part.as_os_str() == ".."));
    let name =
        inside.map_or_else(|| PathBuf::from(path.file_name().unwrap_or_default()), Path::to_owned);
    let stored = match granted(workspace, &real) {
        Some(path) => path,
        None => {
            let stored = private_path(workspace, &format!("uploads/{}", name.display()));
            workspace.write(&stored, &bytes)?;
            stored
        }
    };
    let source = Some(path.display().to_string());
    let size = Some(bytes.len() as u64);
    attached.files.push(Upload { path: stored.clone(), source, bytes: size, ..Upload::default() });
    if image_media_type(&stored).is_some() && !sees {
        let path = path.to_owned();
        attached.problems.push(AttachProblem::File { path, why: FileProblem::NoImages });
    }
    attached.parts.extend(parts_of(&stored, bytes, sees));
    Ok(())
}

/// Reads a file. A pipe would block, and a device or a growing file has no end.
fn read(path: &Path) -> Result<Vec<u8>, FileProblem> {
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(FileProblem::NotRegular);
    }
    let bytes = metadata.len();
    if bytes > MAX_BYTES as u64 {
        return Err(FileProblem::TooLarge { bytes, most: MAX_BYTES as u64 });
    }
    Ok(read_all(&mut std::fs::File::open(path)?, MAX_BYTES)?)
}

/// Returns how the model names a file in a granted directory: it works with the file itself.
fn granted(workspace: &Workspace, real: &Path) -> Option<String> {
    workspace.grants().find(|grant| real.starts_with(&grant.path))?;
    let inside = real.strip_prefix(workspace.working_directory());
    Some(inside.unwrap_or(real).to_str()?.to_owned())
}

/// Returns the parts of the message for a file.
fn parts_of(stored: &str, bytes: Vec<u8>, sees: bool) -> Vec<Part> {
    let size = bytes.len();
    if let Some(media) = image_media_type(stored) {
        if !sees {
            return vec![Part::text(format!(
                "[Image: {stored}; omitted, this model does not accept images]"
            ))];
        }
        let data = base64::engine::general_purpose::STANDARD.encode(bytes);
        return vec![
            Part::text(format!("[Image: {stored}]")),
            Body::Image(Image::Inline { media: media.to_owned(), data }).into(),
        ];
    }
    match String::from_utf8(bytes) {
        Ok(text) if text.chars().count() <= TEXT_CHARS => {
            vec![Part::text(format!("[File: {stored}]\n{text}"))]
        }
        Ok(_) => {
            vec![Part::text(format!("[File: {stored}, {size} bytes; use {READ_FILE} to read it]"))]
        }
        Err(_) => {
            let size = counted(size as u64, "byte");
            vec![Part::text(format!("[File: {stored}, {size}, binary]"))]
        }
    }
}
