//! Files that a person names with `#`: copied into the workspace, small texts said with the
//! message, pictures as pictures.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use globset::GlobBuilder;
use waterline::message::{Body, Image, Part};

use waterline_sandbox::Workspace;
use waterline_sandbox::workspace::climbs_out;

use crate::state::Upload;
use crate::tool::image_media_type;

/// More files, or larger ones, are not taken at once.
const FILES: usize = 50;
const BYTES: u64 = 20_000_000;

/// A text longer than this is not said but only named.
const TEXT_CHARS: usize = 20_000;

/// What came of a name.
#[derive(Clone, Debug, Default)]
pub struct Attached {
    /// What is said with the message.
    pub parts: Vec<Part>,
    /// The files, as the state keeps them.
    pub files: Vec<Upload>,
    /// What could not be taken, for the person.
    pub notices: Vec<String>,
}

/// Takes the files that names mean into a workspace: paths from `base` on, folders, patterns.
/// `sees` tells whether the model takes pictures.
#[must_use]
pub fn attach(workspace: &Workspace, base: &Path, names: &[String], sees: bool) -> Attached {
    let mut attached = Attached::default();
    for name in names {
        let paths = matching(base, name);
        if paths.is_empty() {
            attached.notices.push(format!("#{name}: there is no such file"));
        }
        if paths.len() > FILES {
            attached
                .notices
                .push(format!("#{name}: {} files; the first {FILES} are taken", paths.len()));
        }
        for path in paths.into_iter().take(FILES) {
            let may_leave = says_it_leaves(Path::new(name));
            if let Err(why) = take(workspace, base, &path, (sees, may_leave), &mut attached) {
                attached.notices.push(format!("{}: {why}", path.display()));
            }
        }
    }
    attached
}

/// Whether a name says itself that it leads elsewhere: then it is meant so. Two dots in the name of
/// a file do not say it.
fn says_it_leaves(name: &Path) -> bool {
    name.is_absolute() || climbs_out(name)
}

/// The files that a name means.
fn matching(base: &Path, name: &str) -> Vec<PathBuf> {
    let whole = base.join(name);
    if whole.is_file() {
        return vec![whole];
    }
    let (folder, pattern) = match whole.is_dir() {
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
    // What is hidden is taken only by who says so.
    let hidden = pattern.split('/').any(|part| part.starts_with('.'));
    below(&folder, Path::new(""), hidden, &mut |path| {
        if glob.is_match(path) {
            found.push(folder.join(path));
        }
        found.len() <= FILES
    });
    found
}

/// Visits the files below a folder until somebody has enough; with `hidden` also those whose name
/// begins with a dot. What belongs to git is never meant.
fn below(folder: &Path, at: &Path, hidden: bool, visit: &mut dyn FnMut(&Path) -> bool) -> bool {
    let mut entries: Vec<_> =
        std::fs::read_dir(folder.join(at)).into_iter().flatten().flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    entries.into_iter().all(|entry| {
        let name = entry.file_name();
        if !hidden && name.to_string_lossy().starts_with('.') || name == ".git" {
            return true;
        }
        let path = at.join(name);
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => below(folder, &path, hidden, visit),
            Ok(kind) if kind.is_file() => visit(&path),
            _ => true,
        }
    })
}

fn take(
    workspace: &Workspace,
    base: &Path,
    path: &Path,
    (sees, may_leave): (bool, bool),
    attached: &mut Attached,
) -> Result<(), String> {
    // Somebody else may have put a link where the person sees a file of their own.
    let (real, around) = (
        path.canonicalize().map_err(|error| error.to_string())?,
        base.canonicalize().unwrap_or_default(),
    );
    if !may_leave && !real.starts_with(&around) {
        return Err(format!(
            "it is a link to {}; name that instead if you mean it",
            real.display()
        ));
    }
    let size = std::fs::metadata(path).map_err(|error| error.to_string())?.len();
    if size > BYTES {
        return Err(format!("{size} bytes are more than the {BYTES} that are taken"));
    }
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    let inside = path
        .strip_prefix(base)
        .ok()
        .filter(|inside| !inside.components().any(|part| part.as_os_str() == ".."));
    let name =
        inside.map_or_else(|| PathBuf::from(path.file_name().unwrap_or_default()), Path::to_owned);
    let stored = format!("uploads/{}", name.display());
    workspace.write(&stored, &bytes).map_err(|error| error.to_string())?;
    let source = Some(path.display().to_string());
    let size = Some(bytes.len() as u64);
    attached.files.push(Upload { path: stored.clone(), source, bytes: size, ..Upload::default() });
    if image_media_type(&stored).is_some() && !sees {
        attached.notices.push(format!(
            "{}: the model cannot see pictures; it is told the name only",
            path.display()
        ));
    }
    attached.parts.extend(said(&stored, bytes, sees));
    Ok(())
}

/// What is said of a file.
fn said(stored: &str, bytes: Vec<u8>, sees: bool) -> Vec<Part> {
    let size = bytes.len();
    if let Some(media) = image_media_type(stored) {
        if !sees {
            return vec![Part::text(format!("[Image: {stored}; the model cannot see pictures]"))];
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
        Ok(_) => vec![Part::text(format!("[File: {stored}, {size} bytes: read_file reads it]"))],
        Err(_) => vec![Part::text(format!("[File: {stored}, {size} bytes, not a text]"))],
    }
}
